"""`--dry-run=client`: what can be told from the documents alone, by the same checks that the server makes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from api.http import envelope
from cli.errors import BadManifest, Cause
from cli.manifests import Manifest, located
from resources.validation import FieldError, Invalid, parse


def check(manifests: Sequence[Manifest]) -> list[dict[str, Any]]:
    """One item a document, as a batch answers. Raises BadManifest with every problem of every document."""
    causes: list[Cause] = []
    hints: list[str] = []
    items = []
    for index, manifest in enumerate(manifests):
        try:
            submission = envelope.read(manifest.document)
            parse(submission.kind.spec, submission.spec)
        except Invalid as error:
            causes += [_cause(problem, index) for problem in error.errors]
            hints += [problem.hint for problem in error.errors if problem.hint]
        else:
            items.append({"kind": submission.ref.kind, "name": submission.ref.name, "outcome": "valid", "restarts": []})
    if causes:
        raise BadManifest(located(causes, manifests), hint=next(iter(hints), ""))
    return items


def _cause(problem: FieldError, index: int) -> Cause:
    return Cause(problem.path, problem.message, index)
