"""`describe --effective`: a spec with its defaults, and where each value comes from: itself, a template, its bundle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from cli import paths
from cli.errors import ServerRefused
from cli.kinds import BUNDLE, TEMPLATE
from cli.session import Session
from cli.tables import lines
from cli.targets import Target
from cli.views.wire import Document, metadata, namespace, spec
from resources.registry import BY_NAME

DEFAULT = "default"
NOT_FOUND = 404
NOT_OF_AN_ENTRY = ("images",)
"""What a template has and a job entry has not."""


class Sourced(NamedTuple):
    """The spec as it counts, and where the value at a path comes from."""

    whole: Document
    source: Callable[[str], str]


def effective_lines(session: Session, document: Document) -> list[str]:
    """Path, value and source, one line a value. A value that stands in the spec itself has no source beside it."""
    kind = BY_NAME.get(str(document.get("kind")))
    if kind is None:
        return []
    sourced = {"bundle": _of_bundle, "job": _of_job}.get(kind.name, _alone)(session, document)
    whole = kind.spec.model_validate(sourced.whole).model_dump(mode="json", by_alias=True)
    return lines([(path, _text(value), sourced.source(path)) for path, value in leaves(whole, "spec")])


def _alone(_session: Session, document: Document) -> Sourced:
    given = dict(leaves(spec(document), "spec"))
    return Sourced(spec(document), lambda path: "" if path in given else DEFAULT)


def _of_bundle(session: Session, bundle: Document) -> Sourced:
    """Each entry over its template: an entry's fields win as wholes, env name by name."""
    asked = spec(bundle)
    given = dict(leaves(asked, "spec"))
    entries, templates = [], []
    for entry in asked.get("jobs") or ():
        name = str(entry.get("template") or entry.get("jobName"))
        template = _found(session, TEMPLATE.name, name, namespace(bundle))
        entries.append(_over(template, entry))
        templates.append(f"template/{name}")
    merged = {**asked, "jobs": entries}
    known = dict(leaves(merged, "spec"))

    def source(path: str) -> str:
        if path in given:
            return ""
        index = path.removeprefix("spec.jobs[").partition("]")[0]
        return templates[int(index)] if path in known and index.isdecimal() else DEFAULT

    return Sourced(merged, source)


def _of_job(session: Session, job: Document) -> Sourced:
    asked = spec(job)
    given = dict(leaves(asked, "spec"))
    owner = str(asked.get("bundle"))
    bundle = _found(session, BUNDLE.name, owner, namespace(job))
    entry: Document = next((one for one in bundle.get("jobs") or () if one.get("jobName") == asked.get("jobName")), {})
    name = str(asked.get("template") or asked.get("jobName"))
    template = _found(session, TEMPLATE.name, name, namespace(job))

    def source(path: str) -> str:
        if path not in given:
            return DEFAULT
        field, _, rest = path.removeprefix("spec.").partition(".")
        inside = field == "env" and rest not in (entry.get("env") or {})
        of_template = field in template and (field not in entry or inside)
        return f"template/{name}" if of_template else f"bundle/{owner}"

    return Sourced(asked, source)


def _over(template: Document, entry: Document) -> Document:
    given = {field: value for field, value in template.items() if field not in NOT_OF_AN_ENTRY}
    env = {**(given.get("env") or {}), **(entry.get("env") or {})}
    return {**given, **entry, **({"env": env} if env else {})}


def _found(session: Session, kind: str, name: str, project: str) -> Document:
    """The spec of a resource, empty when there is none."""
    target = Target(session.kind(kind), name)
    try:
        found = session.client.get(paths.item(target, project or session.project))
    except ServerRefused as error:
        if error.code != NOT_FOUND:
            raise
        return {}
    return spec(found) if metadata(found).get("deletionTimestamp") is None else {}


def leaves(value: Any, path: str) -> list[tuple[str, Any]]:
    """Every value that is no object by its path, `spec.jobs[0].command`; a list of objects is walked too."""
    if isinstance(value, dict) and value:
        return [leaf for key, below in value.items() for leaf in leaves(below, f"{path}.{key}")]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [leaf for index, below in enumerate(value) for leaf in leaves(below, f"{path}[{index}]")]
    return [(path, value)]


def _text(value: Any) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            return str(int(value))
        case list():
            return f"[{', '.join(map(str, value))}]"
        case _:
            return str(value) if value != "" else '""'
