"""Documents for programs: JSON, YAML, names, JSONPath; the same for one and for many."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from cli.terminal import out, safe, safe_json
from resources.names import shown

Document = dict[str, Any]
FORMATS = ("json", "yaml", "name", "jsonpath")


def listed(documents: Sequence[Document], *, revision: str = "") -> Document:
    """Several documents as one."""
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": revision}, "items": list(documents)}


def label(document: Document) -> str:
    """`kind/name` of a wire object."""
    metadata = document.get("metadata", {})
    return safe(shown(str(document.get("kind", "")), str(metadata.get("key") or metadata.get("name", ""))))


def emit(document: Document, form: str) -> None:
    """Prints a document, or a List, in one of FORMATS."""
    if form == "json":
        emit_json(document)
    elif form == "yaml":
        emit_yaml(document)
    elif form == "name":
        for item in document["items"] if document.get("kind") == "List" else [document]:
            out(label(item))
    else:
        from cli.jsonpath import evaluate

        text = evaluate(form.partition("=")[2], document)
        sys.stdout.write(text if text.endswith("\n") else text + "\n")


def emit_json(document: Any, *, compact: bool = False) -> None:
    """Indented, or on one line."""
    text = json.dumps(document, ensure_ascii=False, indent=None if compact else 2)
    out(safe_json(text))


def emit_yaml(document: Document) -> None:
    import io

    from ruamel.yaml import YAML

    yaml = YAML(typ="rt", pure=True)
    yaml.width = 4096
    text = _dumped(yaml, document, io.StringIO())
    if safe(text.replace("\n", "")) != text.replace("\n", ""):
        yaml.allow_unicode = False
        text = _dumped(yaml, document, io.StringIO())
    out(text.rstrip("\n"))


def _dumped(yaml: Any, document: Document, buffer: Any) -> str:
    yaml.dump(document, buffer)
    return str(buffer.getvalue())
