"""Names and keys: what a name may be, and how a job is called on the wire and by people."""

from __future__ import annotations

import re
from typing import NamedTuple

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
KIND = re.compile(r"[a-z][a-z0-9-]{0,62}", re.ASCII)
TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_.\-/]{0,126}", re.ASCII)
"""Of events, conditions and effects; finalizers too."""
MAX_LABEL = 63
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
MAX_SUBDOMAIN = 253
MAX_KEY = 512
ROLES = ("primary", "backup")


class JobKey(NamedTuple):
    """Where a job stands: `ch-1/primary/encode` for people, `ch-1.primary.encode` on the wire."""

    bundle: str
    role: str
    job: str

    @property
    def wire(self) -> str:
        return f"{self.bundle}.{self.role}.{self.job}"

    @property
    def people(self) -> str:
        return f"{self.bundle}/{self.role}/{self.job}"


def label_problem(name: str) -> str | None:
    """Why a text is no DNS label, or None."""
    if len(name) > MAX_LABEL:
        return f"at most {MAX_LABEL} characters"
    return None if LABEL.fullmatch(name) else f"must match {LABEL.pattern}"


def capability_problem(name: str) -> str | None:
    """Why a text names no capability: labels joined by dots, or None."""
    if len(name) > MAX_LABEL:
        return f"at most {MAX_LABEL} characters"
    parts = name.split(".")
    return next((problem for problem in map(label_problem, parts) if problem), None)


def job_key(name: str) -> JobKey | None:
    """The key behind `B/R/J` or `B.R.J`; None when it is neither."""
    parts = name.split("/") if "/" in name else name.split(".")
    if len(parts) == 3 and parts[1] in ROLES and not any(label_problem(p) for p in parts):
        return JobKey(*parts)
    return None


def key_problem(key: str) -> str | None:
    """Why a text is no key of a resource whose kind a file defines, or None."""
    if not 0 < len(key) <= MAX_KEY:
        return f"expected 1 to {MAX_KEY} characters"
    return "control characters are not allowed" if any(ord(c) < 32 or 127 <= ord(c) < 160 for c in key) else None


def wire_of(key: str) -> str:
    """The name that stands for a key in a path: itself, or `x-` with the start of its digest."""
    if len(key) <= MAX_SUBDOMAIN and SUBDOMAIN.fullmatch(key):
        return key
    import hashlib  # noqa: PLC0415 - a client needs it for such keys alone

    return f"x-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def people(job: str) -> str:
    """A job's wire name as people call it: `ch-1/primary/encode`."""
    key = job_key(job)
    return job if key is None else key.people


def shown(kind: str, name: str) -> str:
    """`kind/name` as people read it and paste it into the next command."""
    key = job_key(name) if kind == "job" else None
    return f"{kind}/{key.people if key else name}"
