"""Static checks across documents, made before anything is stored: references, and what templates must complete."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from resources.canonical import Document
from resources.expansion import merged, template_name
from resources.validation import FieldError, Invalid

ON_FAILURE_HINT = "most jobs want avoidSpare (start again, leave warm spares alone)"


class Lookups(Protocol):
    """What else there is: in the store, or in the same set of documents."""

    def pool(self, name: str) -> Document | None:
        """The spec of a pool."""
        ...

    def pools(self) -> Iterable[str]: ...

    def template(self, project: str, name: str) -> Document | None:
        """The spec of a template."""
        ...


Check = Callable[[str, Mapping[str, Any], Lookups], list[FieldError]]


def check(kind: str, project: str, document: Mapping[str, Any], lookups: Lookups) -> None:
    """Raises Invalid with every problem of a spec that already has the right shape."""
    rule = CHECKS.get(kind)
    problems = rule(project, document, lookups) if rule else []
    if problems:
        raise Invalid(problems)


def _bundle(project: str, document: Mapping[str, Any], lookups: Lookups) -> list[FieldError]:
    problems = _pool("spec.pool", document.get("pool"), lookups)
    policy = document.get("resiliencePolicy") or {}
    problems += _pool("spec.resiliencePolicy.pool", policy.get("pool"), lookups)
    entries = [entry for entry in document.get("jobs", ()) if isinstance(entry, dict)]
    for index, entry in enumerate(entries):
        problems += _entry(f"spec.jobs[{index}]", project, entry, lookups)
    return problems + _groups(entries)


def _pool(path: str, name: object, lookups: Lookups) -> list[FieldError]:
    if not isinstance(name, str) or lookups.pool(name) is not None:
        return []
    known = sorted(lookups.pools())
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    guess = f" (did you mean {near[0]}?)" if near else ""
    return [FieldError(path, f'no pool "{name}"{guess}', "" if near else f"pools: {', '.join(known) or 'none yet'}")]


def _entry(path: str, project: str, entry: Mapping[str, Any], lookups: Lookups) -> list[FieldError]:
    name = template_name(entry)
    template = lookups.template(project, name)
    if template is None and entry.get("template"):
        return [FieldError(f"{path}.template", f'no template "{name}" in project {project}')]
    whole = merged(entry, template)
    gives = f'(template "{name}" gives none)' if template is not None else f'(no template "{name}" gives one)'
    problems = []
    if not whole.get("command") and not whole.get("image"):
        problems.append(FieldError(f"{path}.command", f"required {gives}"))
    requirements = whole.get("requirements") or {}
    if requirements.get("requiredCapacity") is None:
        problems.append(FieldError(f"{path}.requirements.requiredCapacity", "required", "vCPUs that the job may use, such as 0.5"))
    if requirements.get("onRuntimeFailure") is None:
        problems.append(FieldError(f"{path}.requirements.onRuntimeFailure", "required", ON_FAILURE_HINT))
    return problems


def _groups(entries: list[dict[str, Any]]) -> list[FieldError]:
    """Jobs that a chain of coLocateWith binds together must not be kept apart."""
    near: dict[str, set[str]] = {entry["jobName"]: set() for entry in entries}
    for entry in entries:
        for other in entry.get("coLocateWith") or ():
            near[entry["jobName"]].add(other)
            near.setdefault(other, set()).add(entry["jobName"])
    problems = []
    for index, entry in enumerate(entries):
        for other in entry.get("separateFrom") or ():
            chain = _chain(near, entry["jobName"], other)
            if chain:
                way = " → ".join(chain)
                problems.append(FieldError(f"spec.jobs[{index}].separateFrom", f'"{other}" is co-located with it ({way})'))
    return problems


def _chain(near: Mapping[str, set[str]], start: str, end: str) -> list[str]:
    """A way from one job to another over coLocateWith; empty when there is none."""
    ways = [[start]]
    seen = {start}
    while ways:
        way = ways.pop(0)
        if way[-1] == end:
            return way
        for name in sorted(near.get(way[-1], ())):
            if name not in seen:
                seen.add(name)
                ways.append([*way, name])
    return []


def _node(project: str, document: Mapping[str, Any], lookups: Lookups) -> list[FieldError]:
    name = document.get("pool")
    problems = _pool("spec.pool", name, lookups)
    pool, tier = lookups.pool(str(name)), document.get("tier")
    if pool is None or not isinstance(tier, str):
        return problems
    tiers = [str(one.get("name")) for one in pool.get("tiers", ())]
    if tier not in tiers:
        problems.append(FieldError("spec.tier", f'pool "{name}" has no tier "{tier}"', f"tiers: {', '.join(tiers)}"))
    return problems


CHECKS: Mapping[str, Check] = {"bundle": _bundle, "node": _node}
