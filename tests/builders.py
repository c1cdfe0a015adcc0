"""Documents for tests: name only what the test is about."""

from __future__ import annotations

from typing import Any

from resources.canonical import Document
from resources.reference import Ref

POOL = Ref("pool", "local")


def a_pool(**fields: Any) -> Document:
    return {"tiers": [{"name": "local", "kind": "local-servers", "scaleOut": "fixed"}], **fields}


def a_job_entry(name: str = "web", **fields: Any) -> Document:
    requirements = {"requiredCapacity": 1, "onRuntimeFailure": "avoidSpare", **fields.pop("requirements", {})}
    return {"jobName": name, "command": ["sleep", "1000"], "requirements": requirements, **fields}


def a_job_spec(name: str = "web", **fields: Any) -> Document:
    """The spec that its bundle writes for a job."""
    return {"bundle": "b", "role": "primary", "index": 0, "pool": "local", **a_job_entry(name, **fields)}


def a_bundle(*entries: Document, **fields: Any) -> Document:
    return {"pool": "local", "jobs": list(entries) or [a_job_entry()], **fields}
