"""`describe --effective`: a spec with its defaults, and which of the values are defaults."""

from __future__ import annotations

from typing import Any

from cli.tables import lines
from cli.views.wire import Document, spec
from resources.registry import BY_NAME


def effective_lines(document: Document) -> list[str]:
    """Path, value and source, one line a value."""
    kind = BY_NAME.get(str(document.get("kind")))
    asked = spec(document)
    if kind is None:
        return []
    whole = kind.spec.model_validate(asked).model_dump(mode="json", by_alias=True)
    given = dict(_leaves(asked, "spec"))
    return lines([(path, _text(value), "" if path in given else "default") for path, value in _leaves(whole, "spec")])


def _leaves(value: Any, path: str) -> list[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        return [leaf for key, below in value.items() for leaf in _leaves(below, f"{path}.{key}")]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [leaf for index, below in enumerate(value) for leaf in _leaves(below, f"{path}[{index}]")]
    return [(path, value)]


def _text(value: Any) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case list():
            return f"[{', '.join(map(str, value))}]"
        case _:
            return str(value) if value != "" else '""'
