"""What the kinds are made of: the OpenAPI document, from this rmctl's own models, else from a definition's."""

from __future__ import annotations

from typing import Any, NamedTuple

from cli.errors import UsageProblem
from cli.kinds import KINDS, KindName, known
from cli.session import Session

Schema = dict[str, Any]
PATH = "/apis/rmctl/v1/definitions/{kind}/schema"
COMPONENT = "#/components/schemas/"
PREFIX = "rmctl.v1."


class Models(NamedTuple):
    """The schemas by name, as OpenAPI 3 writes them."""

    schemas: dict[str, Schema]

    def of(self, kind: str) -> Schema:
        """Raises UsageProblem for a kind without a schema."""
        found = self.schemas.get(PREFIX + kind)
        if found is None:
            raise UsageProblem(f'nothing is known about the fields of "{kind}"')
        return found

    def resolved(self, schema: Schema) -> Schema:
        """With references followed and `allOf` laid together; what stands beside a reference wins."""
        while True:
            found: Schema = {}
            for part in schema.get("allOf", ()):
                found |= self.resolved(part)
            if "$ref" in schema:
                found |= self.schemas.get(str(schema["$ref"]).removeprefix(COMPONENT), {})
            found |= {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
            if "$ref" not in found and "allOf" not in found:
                return found
            schema = found


def models(session: Session, word: str) -> tuple[KindName, Models]:
    """The kind behind a word and all schemas. Only for a kind that is not built in the server is asked."""
    kind = known(word, KINDS)
    if kind is not None:
        return kind, built_in()
    kind = session.kind(word)
    found = session.client.get(PATH.format(kind=kind.name), {"project": session.project})
    return kind, Models(found["components"]["schemas"])


def built_in() -> Models:
    """The schemas of the kinds that this rmctl knows itself."""
    from api.http.openapi import document

    return Models(document()["components"]["schemas"])
