"""What a bundle stands for: one job for each copy and entry, with templates, overrides and rules worked in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from controllers.grouping import apart, groups, problems
from controllers.run_fingerprint import run_fingerprint
from resources.bundle import BundleSpec
from resources.canonical import Document, without
from resources.instants import rfc3339
from resources.job import JobSpec
from resources.job_entry import JobEntry
from resources.names import ROLES, JobKey
from resources.template import TemplateSpec
from resources.validation import FieldError, Invalid, parse

INSTANCE_FINALIZER = "rmctl/instance"
"""Kept on a job until no instance of it can be alive."""
BUNDLE_LABEL = "rmctl/bundle"
ROLE_LABEL = "rmctl/role"
JOB_LABEL = "rmctl/job"
TEMPLATE_LABEL = "rmctl/template"
RULES = ("jobName", "template", "coLocateWith", "separateFrom", "exclusive", "singleUse", "startDateTime", "schedule")


@dataclass(frozen=True)
class Expected:
    """One job that should exist; `document` is its spec without what was not asked for."""

    key: JobKey
    document: Document
    spec: JobSpec
    labels: Mapping[str, str]

    @cached_property
    def run(self) -> str:
        """What makes its run this run."""
        return run_fingerprint(self.spec)


def template_names(spec: BundleSpec) -> tuple[str, ...]:
    """The templates that a bundle would read, whether they exist or not."""
    return tuple(dict.fromkeys(entry.template or entry.job_name for entry in spec.jobs))


def expand(name: str, spec: BundleSpec, templates: Mapping[str, TemplateSpec]) -> tuple[Expected, ...]:
    """The jobs of a bundle, the primary's first, each copy in the order of the entries.

    Raises Invalid with every problem that shows only once templates and rules are worked in.
    """
    errors: list[FieldError] = []
    merged: list[Document] = []
    for index, entry in enumerate(spec.jobs):
        template = templates.get(entry.template or entry.job_name)
        if entry.template is not None and template is None:
            errors.append(FieldError(f"spec.jobs[{index}].template", f'no template "{entry.template}"'))
        merged.append(_merged(entry, template))
        if not merged[index].get("command") and not merged[index].get("image"):
            wanted = entry.template or entry.job_name
            errors.append(FieldError(f"spec.jobs[{index}].command", f'required (no template "{wanted}" gives one)'))
    rules = _Rules(groups(spec), apart(spec))
    expected = [
        made
        for role in ROLES[: spec.replica_count]
        for index, entry in enumerate(spec.jobs)
        if (made := _job(JobKey(name, role, entry.job_name), spec, index, merged[index], rules, errors)) is not None
    ]
    ports = {made.key.job: made.spec.requirements.required_host_ports for made in expected}
    errors += problems(spec, ports)
    if errors:
        raise Invalid(list(dict.fromkeys(errors)))
    return tuple(expected)


def restarts(now: Iterable[tuple[JobKey, JobSpec]], wanted: Iterable[Expected]) -> tuple[JobKey, ...]:
    """The jobs that exist and whose running instance the wanted specs would end and start anew."""
    running = dict(now)
    return tuple(e.key for e in wanted if e.key in running and another_run(running[e.key], e.spec))


def another_run(now: JobSpec, wanted: JobSpec) -> bool:
    """Bundle and job may each have been asked to restart; the later word counts, and an apply takes none back."""
    restarted = max((at for at in (now.restarted_at, wanted.restarted_at) if at is not None), default=None)
    return run_fingerprint(now) != run_fingerprint(wanted.model_copy(update={"restarted_at": restarted}))


def _merged(entry: JobEntry, template: TemplateSpec | None) -> Document:
    """The entry over its template: fields of the entry win as wholes, env name by name."""
    given = (
        {}
        if template is None
        else template.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)
    )
    own = entry.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)
    document = {**given, **without(own, *RULES)}
    env = {**given.get("env", {}), **own.get("env", {})}
    images = [*given.get("images", ()), *filter(None, [document.get("image")])]
    return {**document, **({"env": env} if env else {}), **({"images": list(dict.fromkeys(images))} if images else {})}


class _Rules(NamedTuple):
    together: Mapping[str, frozenset[str]]
    separate: Mapping[str, frozenset[str]]


def _job(
    key: JobKey, spec: BundleSpec, index: int, merged: Document, rules: _Rules, errors: list[FieldError]
) -> Expected | None:
    backup = key.role == "backup"
    entry = spec.jobs[index]
    overrides = merged.get("backupParameterOverrides", {}) if backup else {}
    parameters = {**merged.get("parameters", {}), **overrides}
    requirements = dict(merged.get("requirements", {}))
    if backup and spec.resilience_policy is not None and not spec.resilience_policy.essential:
        requirements["essential"] = False
    document: Document = {
        **_tidy(without(merged, "backupParameterOverrides", "parameters", "requirements")),
        "bundle": key.bundle,
        "role": key.role,
        "index": int(backup),
        "pool": _pool(spec, backup=backup),
        "jobName": key.job,
        "template": entry.template or key.job,
        "requirements": _tidy(requirements),
        **({"parameters": parameters} if parameters else {}),
        **_from_bundle(spec, entry, rules, backup=backup),
    }
    try:
        parsed = parse(JobSpec, document, path=f"spec.jobs[{index}]")
    except Invalid as invalid:
        errors.extend(invalid.errors)
        return None
    labels = {
        BUNDLE_LABEL: key.bundle,
        ROLE_LABEL: key.role,
        JOB_LABEL: key.job,
        TEMPLATE_LABEL: document["template"],
    }
    return Expected(key, document, parsed, labels)


def _from_bundle(spec: BundleSpec, entry: JobEntry, rules: _Rules, *, backup: bool) -> Document:
    """What the bundle says for all of its jobs, and the entry's rules as they add up; defaults are left out."""
    start = entry.start_date_time or (None if spec.start_date_time is None else rfc3339(spec.start_date_time))
    said: Document = {
        "startDateTime": start,
        "restartedAt": None if spec.restarted_at is None else rfc3339(spec.restarted_at),
        "onLaunch": _unless("avoidSpare", spec.on_launch),
        "overrideReservation": spec.override_reservation or None,
        "priority": spec.priority or None,
        "forbid": _forbidden(spec) if backup else None,
        "sameAz": _unless("soft", spec.intra_replica_placement.same_az),
        "coLocateWith": sorted(rules.together[entry.job_name] - {entry.job_name}) or None,
        "separateFrom": sorted(rules.separate[entry.job_name]) or None,
        "exclusive": entry.exclusive or None,
        "singleUse": entry.single_use or None,
    }
    return {field: value for field, value in said.items() if value is not None}


def _pool(spec: BundleSpec, *, backup: bool) -> str:
    own = spec.resilience_policy.pool if backup and spec.resilience_policy is not None else None
    return own or spec.pool


def _forbidden(spec: BundleSpec) -> Document | None:
    policy = spec.resilience_policy
    if policy is None:
        return None
    flags = {"sameNode": policy.same_node, "sameAz": policy.same_az, "sameCloud": policy.same_cloud}
    return {flag: value for flag, value in flags.items() if value == "forbid"} or None


def _unless(default: str, value: str) -> str | None:
    return None if value == default else value


def _tidy(document: Document) -> Document:
    """Whole floats as integers, as people write them."""
    return {name: _plain(value) for name, value in document.items()}


def _plain(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return _tidy(value)
        case list():
            return [_plain(item) for item in value]
        case _:
            return value
