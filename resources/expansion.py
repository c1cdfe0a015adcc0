"""A job entry and the template behind it, merged into what will run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resources.canonical import Document

MERGED_BY_KEY = ("env", "secretEnv", "requirements")
"""Fields whose keys are merged; every other field of the entry replaces the template's whole."""
OF_THE_TEMPLATE_ALONE = ("images",)


def merged(entry: Mapping[str, Any], template: Mapping[str, Any] | None) -> Document:
    """The entry's document with the template's fields as its defaults. Both as they were asked for, without defaults."""
    result: Document = {key: value for key, value in (template or {}).items() if key not in OF_THE_TEMPLATE_ALONE}
    for key, value in entry.items():
        if key in MERGED_BY_KEY and isinstance(value, Mapping):
            result[key] = {**(result.get(key) or {}), **value}
        else:
            result[key] = value
    return result


def template_name(entry: Mapping[str, Any]) -> str:
    """The template an entry takes its defaults from: the one it names, else the one named like the job."""
    return str(entry.get("template") or entry.get("jobName"))
