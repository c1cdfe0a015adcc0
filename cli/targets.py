"""What a verb is about: `KIND NAME` and `KIND/NAME` are the same everywhere, and a job's own name is enough."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cli import messages
from cli.errors import UnknownKind, UsageProblem
from cli.kinds import BUNDLE, JOB, KINDS, NODE, KindName, known
from resources.names import ROLES, JobKey, job_key, key_problem, label_problem, shown, wire_of

SUBDOMAIN = r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"
MAX_SUBDOMAIN = 253
Finder = Callable[[str], KindName]


class Target(NamedTuple):
    """`name` is the wire name; empty means every one of the kind. `project` is empty for the session's own.

    `key` is what people call one that has another name on the wire.
    """

    kind: KindName
    name: str = ""
    project: str = ""
    key: str = ""

    def __str__(self) -> str:
        return shown(self.kind.name, self.key or self.name) if self.name else self.kind.plural


def called(kind: KindName, name: str, project: str = "") -> Target:
    """One that people call so. Raises UsageProblem for a name that no resource can have."""
    wire = wire_name(kind, name)
    return Target(kind, wire, project, name if kind.name != JOB.name and wire != name else "")


def targets(words: Sequence[str], find: Finder) -> list[Target]:
    """`KIND[,KIND]`, `KIND NAME…`, `KIND/NAME…`, or jobs by their own names. Raises UsageProblem."""
    if not words:
        raise UsageProblem("a kind is needed, such as `bundles`, `job/NAME` or `resources`")
    if "/" in words[0] or job_key(words[0]):
        return [_pair(word, find) for word in words]
    kinds = [find(word) for word in words[0].split(",")]
    names = words[1:]
    if not names:
        return [Target(kind) for kind in kinds]
    if any("/" in name and name.partition("/")[0] == words[0] for name in names):
        raise UsageProblem(f"{words[0]} {names[0]}: write KIND NAME or KIND/NAME, not both")
    return [called(kind, name) for kind in kinds for name in names]


def named(words: Sequence[str], find: Finder) -> list[Target]:
    """As `targets`, and every one has a name."""
    try:
        found = targets(words, find)
    except UnknownKind as unknown:
        if len(words) == 1 and not unknown.near and not label_problem(words[0]):
            unknown.hint = f"a name goes behind its kind, such as bundle/{words[0]}"
        raise
    for asked in found:
        if not asked.name:
            raise UsageProblem(messages.NAME_NEEDED.format(kind=asked.kind.name))
    return found


def one(words: Sequence[str], find: Finder) -> Target:
    """Exactly one, by name."""
    found = named(words, find)
    if len(found) != 1:
        raise UsageProblem("one resource at a time")
    return found[0]


def _pair(word: str, find: Finder) -> Target:
    kind_word, slash, name = word.partition("/")
    key = job_key(word)
    if key is not None and known(kind_word) is None:
        return Target(JOB, key.wire)
    if not slash or not name:
        raise UsageProblem(f'"{word}": write every one as KIND/NAME')
    try:
        kind = find(kind_word)
    except UnknownKind as unknown:
        key = _first_copy(word)
        if key is None or unknown.near:
            raise
        return Target(JOB, key.wire)
    return called(kind, name)


def _first_copy(name: str) -> JobKey | None:
    """The key behind `BUNDLE/JOB`: that of the primary copy."""
    bundle, slash, job = name.partition("/")
    return JobKey(bundle, ROLES[0], job) if slash and not (label_problem(bundle) or label_problem(job)) else None


def wire_name(kind: KindName, name: str) -> str:
    """The name as a path takes it, never encoded. Raises UsageProblem for a name that no resource can have."""
    if kind.name == JOB.name:
        key = job_key(name) or _first_copy(name)
        if key is None:
            raise UsageProblem(messages.BAD_NAME.format(kind=kind.name, name=name, problem=messages.JOB_NAME))
        return key.wire
    if all(kind.name != known.name for known in KINDS) and key_problem(name) is None:
        return wire_of(name)
    problem = None
    if "." not in name or not re.fullmatch(SUBDOMAIN, name, re.ASCII) or ".." in name:
        problem = label_problem(name)
    elif len(name) > MAX_SUBDOMAIN:
        problem = f"at most {MAX_SUBDOMAIN} characters"
    if problem:
        raise UsageProblem(messages.BAD_NAME.format(kind=kind.name, name=name, problem=problem))
    return name


def job_words(word: str, role: str | None) -> tuple[str, str, str]:
    """Bundle, role and job of `B/R/J`, `B/J` or `B`, with `job/` in front or not; an empty job means the only one."""
    parts = word.split("/") if "/" in word else word.split(".")
    if len(parts) in (2, 4) and parts[0] in (JOB.name, JOB.plural, *JOB.short) and len(parts) == 4:
        parts = parts[1:]
    if len(parts) == 2 and parts[0] in (BUNDLE.name, BUNDLE.plural, *BUNDLE.short):
        parts = parts[1:]
    _refuse_other_kinds(word)
    match parts:
        case [bundle, found, job] if found in ROLES and role in (None, found):
            key = JobKey(bundle, found, job)
        case [bundle, job]:
            key = JobKey(bundle, role or ROLES[0], job)
        case [bundle]:
            key = JobKey(bundle, role or ROLES[0], "")
        case _:
            raise UsageProblem(messages.BAD_NAME.format(kind="job", name=word, problem=messages.JOB_NAME))
    if any(label_problem(part) for part in (key.bundle, key.job or "x")):
        raise UsageProblem(messages.BAD_NAME.format(kind="job", name=word, problem=messages.JOB_NAME))
    return key


def jobs(words: Sequence[str]) -> list[Target]:
    """`BUNDLE/ROLE/JOB…` or `BUNDLE/JOB…`, with `job/` in front or not, or the word `job` before them."""
    rest = words[1:] if words and words[0] in (JOB.name, JOB.plural, *JOB.short) else words
    if not rest:
        raise UsageProblem(messages.NAME_NEEDED.format(kind=JOB.name))
    for word in rest:
        _refuse_other_kinds(word, bundles=True)
    return [Target(JOB, wire_name(JOB, _bare(JOB, word))) for word in rest]


def _refuse_other_kinds(word: str, *, bundles: bool = False) -> None:
    """`node/x` where a job is meant is no job `x` of a bundle `node`: that one is `node/primary/x`."""
    head, slash, tail = word.partition("/")
    kind = known(head)
    if kind in (None, JOB) or not slash or "/" in tail or (kind == BUNDLE and not bundles):
        return
    raise UsageProblem(f"{word}: a job is needed, as BUNDLE/ROLE/JOB or BUNDLE/JOB")


def nodes(words: Sequence[str]) -> list[Target]:
    """`NODE…`, with `node/` in front or not, or the word `node` before them."""
    first = words[0] if words else ""
    rest = words[1:] if len(words) > 1 and first in (NODE.name, NODE.plural) else words
    return [Target(NODE, wire_name(NODE, _bare(NODE, word))) for word in rest]


def _bare(kind: KindName, word: str) -> str:
    head, slash, tail = word.partition("/")
    if not slash or head not in (kind.name, kind.plural, *kind.short):
        return word
    whole = kind.name == JOB.name and job_key(word) is not None and job_key(tail) is None
    return word if whole else tail
