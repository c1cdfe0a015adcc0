"""Patches: merge, strategic merge and JSON patches of an object in wire form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jsonpatch
import jsonpointer

from api.http import envelope, yaml_text
from api.http.envelope import Submission
from api.http.problems import Problem, bad_request, translated
from api.http.writes import Patch, Stored
from resources import canonical, merge
from resources.canonical import Document
from resources.registry import BY_NAME
from resources.validation import Invalid
from resources.wire import to_wire
from store.tx import Tx

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
MEDIA = (MERGE, STRATEGIC, JSON, APPLY)
MAX_OPERATIONS = 1000
MAX_RESULT_BYTES = 2 * 1024 * 1024
Change = Callable[[Document], Document]


def of(media: str, body: Any) -> Patch:
    """The patch behind a body of one of the first three media types."""
    change = changes(media, body)

    def patch(_tx: Tx, live: Stored) -> tuple[Submission, Document]:
        before = to_wire(live)
        after = change(before)
        kind = BY_NAME[live.ref.kind]
        try:
            submission = envelope.read(after, kind=kind, project=live.project or None, name=live.name)
        except Invalid as refused:
            raise translated(refused, live.ref) or refused from None
        sent = _explicit(before["metadata"], after.get("metadata") or {}, submission)
        return sent, merge.without_nulls(submission.whole)

    return patch


def changes(media: str, body: Any) -> Change:
    """What a patch does to a document. Raises a 400 problem for one that cannot be read."""
    if media == JSON:
        return _operations(body)
    if not isinstance(body, dict):
        raise bad_request("a merge patch is an object")
    patch = _plain(body) if media == STRATEGIC else body
    return lambda document: merge.patched(document, patch)


def read_apply(body: bytes) -> Any:
    """The document of an apply patch: YAML, or JSON."""
    return yaml_text.loads(body)


def _explicit(before: Document, after: Document, submission: Submission) -> Submission:
    """Only what the patch itself touched counts as sent: the rest is the object's own."""
    dropped: Document = {key: None for key in ("finalizers", "ownerReferences") if key in before and not after.get(key)}
    return Submission(**{**submission.__dict__, "sent": {**submission.sent, **dropped}})


def _plain(value: Any) -> Any:
    """A strategic patch without its directives for lists, which are replaced whole here."""
    if not isinstance(value, dict):
        return value
    if "$patch" in value or any(key.startswith("$deleteFromPrimitiveList") for key in value):
        raise bad_request("directives such as $patch are not supported: use a merge patch or a JSON patch")
    return {
        key: _plain(inner) for key, inner in value.items() if not key.startswith(("$setElementOrder", "$retainKeys"))
    }


def _operations(body: Any) -> Change:
    if not isinstance(body, list) or len(body) > MAX_OPERATIONS:
        raise bad_request(f"a JSON patch is a list of at most {MAX_OPERATIONS} operations")
    try:
        operations = [jsonpatch.JsonPatch([operation]) for operation in body]
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError, ValueError) as error:
        raise bad_request(f"not a JSON patch: {envelope.printable(str(error))}") from None

    def change(document: Document) -> Document:
        result: Any = document
        for index, operation in enumerate(operations):
            try:
                result = operation.apply(result)
            except jsonpatch.JsonPatchTestFailed:
                raise Problem(422, "Invalid", f"operation {index}: the test failed") from None
            except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError, KeyError) as error:
                raise Problem(422, "Invalid", f"operation {index}: {envelope.printable(str(error))}") from None
            if canonical.size(result) > MAX_RESULT_BYTES:
                raise Problem(422, "Invalid", f"operation {index}: the result is over {MAX_RESULT_BYTES} bytes")
        if not isinstance(result, dict):
            raise Problem(422, "Invalid", "the result is not an object")
        return result

    return change
