"""Wakes: which resource a source wakes; what happened is no part of it."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from resources.canonical import Document
from resources.frozen import Frozen, Text
from resources.names import KIND, job_key, wire_of
from resources.reference import Ref

HOLE = re.compile(r"\$\{([A-Za-z0-9_\-]+(?:\.[A-Za-z0-9_\-]+)*)\}")
HALF = re.compile("[\ud800-\udfff]")


def _kind(name: str) -> str:
    if not KIND.fullmatch(name):
        raise ValueError(f"must match {KIND.pattern}")
    return name


class Wakes(Frozen):
    """`key` is what the resource is called."""

    kind: Annotated[Text, AfterValidator(_kind)]
    key: Annotated[Text, Field(min_length=1, max_length=512)]


def ref_of(kind: str, key: str, project: str) -> Ref:
    """A key of a built-in kind is its name; cluster-wide kinds are the caller's business."""
    job = job_key(key) if kind == "job" else None
    return Ref(kind, job.wire if job else wire_of(key), project)


def filled(template: str, document: Document) -> str | None:
    """The template with `${field.field}` filled from a document; None where a field is absent or no plain value.

    Half a character is none.
    """
    missing = False

    def value(hole: re.Match[str]) -> str:
        nonlocal missing
        found: Any = document
        for step in hole[1].split("."):
            found = found.get(step) if isinstance(found, dict) else None
        plain = isinstance(found, str | int) and not isinstance(found, bool)
        if not plain or HALF.search(str(found)):
            missing = True
            return ""
        return str(found)

    text = HOLE.sub(value, template)
    return None if missing else text
