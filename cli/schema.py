"""`rmctl schema`: JSON Schema of manifests, for editors and for checks in other tools."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli.errors import UsageProblem
from cli.kinds import KINDS, known
from cli.output import emit
from cli.session import Session

DRAFT = "https://json-schema.org/draft/2020-12/schema"
API_VERSION = "rmctl/v1"


def schema(
    context: typer.Context,
    word: Annotated[str, typer.Argument(metavar="[KIND]", help="one kind; all of them unless given")] = "",
) -> int:
    """Print the JSON Schema of a manifest. No server is needed."""
    session: Session = context.obj
    form = session.output("json", "yaml") or "json"
    from resources.registry import BY_NAME

    if word:
        kind = known(word, KINDS)
        if kind is None or kind.name not in BY_NAME:
            raise UsageProblem(f'no built-in kind "{word}"', hint=f"kinds: {', '.join(BY_NAME)}")
        emit({"$schema": DRAFT, **_manifest(kind.name)}, form)
        return 0
    applied = [name for name, kind in BY_NAME.items() if kind.applied]
    definitions: dict[str, Any] = {}
    for name in applied:
        whole = _manifest(name)
        definitions |= whole.pop("$defs", {})
        definitions[name] = whole
    emit({"$schema": DRAFT, "oneOf": [{"$ref": f"#/$defs/{name}"} for name in applied], "$defs": definitions}, form)
    return 0


def _manifest(name: str) -> dict[str, Any]:
    """The envelope with the spec of a kind."""
    from resources.registry import BY_NAME

    kind = BY_NAME[name]
    spec = kind.spec.model_json_schema(by_alias=True)
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    about: dict[str, Any] = {"name": {"type": "string"}, "labels": texts, "annotations": texts}
    if kind.namespaced:
        about |= {"project": {"type": "string"}, "namespace": {"type": "string"}}
    whole: dict[str, Any] = {
        "title": name,
        "type": "object",
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": name},
            "metadata": {"type": "object", "properties": about, "required": ["name"]},
            "spec": {key: value for key, value in spec.items() if key != "$defs"},
        },
        "required": ["kind", "metadata", "spec"],
    }
    return {**whole, **({"$defs": spec["$defs"]} if "$defs" in spec else {})}
