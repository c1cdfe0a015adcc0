"""A resource as people edit it and compare it: YAML of what they may write, in the order of a manifest."""

from __future__ import annotations

import io
from typing import Any

from cli.views.wire import Document, metadata, spec

KEPT_BY_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "finalizers")


def editable(document: Document) -> Document:
    """Envelope, labels, annotations and spec; nothing that the server keeps itself."""
    about = metadata(document)
    kept: Document = {"name": about.get("name")}
    if about.get("namespace"):
        kept["project"] = about["namespace"]
    kept |= {part: about[part] for part in ("labels", "annotations") if about.get(part)}
    return {
        "apiVersion": document.get("apiVersion", "rmctl/v1"),
        "kind": document.get("kind"),
        "metadata": kept,
        "spec": spec(document),
    }


def as_yaml(document: Document) -> str:
    """Texts that would read as something else are quoted, so that what is read back is the same."""
    from ruamel.yaml import YAML
    from ruamel.yaml.representer import RoundTripRepresenter

    class Quoting(RoundTripRepresenter):
        """Of its own: what is added to a representer holds for all of its class."""

    Quoting.add_representer(str, _text)
    yaml = YAML(typ="rt", pure=True)
    yaml.Representer = Quoting
    yaml.width = 4096
    buffer = io.StringIO()
    yaml.dump(document, buffer)
    return buffer.getvalue()


def merge_patch(before: Any, after: Any) -> Document:
    """The RFC 7386 patch that makes one object of the other: what went is null, a list is replaced whole."""
    patch: Document = {}
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if key not in after:
            patch[key] = None
        elif isinstance(old, dict) and isinstance(new, dict):
            inner = merge_patch(old, new)
            if inner:
                patch[key] = inner
        elif key not in before or not _same(old, new):
            patch[key] = new
    return patch


def _same(one: Any, other: Any) -> bool:
    """JSON equality: true is not 1, but 1.0 is 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _text(representer: Any, text: str) -> Any:
    """Several lines as a block; what the strict reader would take for a number or a word of YAML in quotes."""
    from cli.reading.yaml_reader import BOOL, CONSTANT, DECIMAL, FLOAT, HEXADECIMAL, NULL, OCTAL

    tag = "tag:yaml.org,2002:str"
    if "\n" in text and text.isprintable():
        return representer.represent_scalar(tag, text, style="|")
    words = (NULL, BOOL, DECIMAL, OCTAL, HEXADECIMAL, FLOAT, CONSTANT)
    style = '"' if any(word.fullmatch(text) for word in words) else None
    return representer.represent_scalar(tag, text, style=style)
