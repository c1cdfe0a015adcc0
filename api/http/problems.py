"""Refusals as the wire tells them: a Kubernetes `Status` with its code, reason, causes and a hint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from resources.canonical import Document
from resources.instants import rfc3339
from resources.kind import SourceChanged, Undefined
from resources.names import job_key
from resources.reference import Ref
from resources.validation import FieldError, Invalid
from store import errors as store_errors


@dataclass(frozen=True)
class Cause:
    """One thing that is wrong; `document` counts from 0 in a set of documents."""

    message: str
    field: str = ""
    reason: str = "FieldValueInvalid"
    hint: str = ""
    document: int | None = None
    code: str = ""

    def as_document(self) -> Document:
        told: Document = {"reason": self.reason, "message": self.message, "field": self.field}
        if self.code:
            told["code"] = self.code
        if self.hint:
            told["hint"] = self.hint
        if self.document is not None:
            told["document"] = self.document
        return told


class Problem(Exception):
    """A request that is not carried out. Nothing of it was stored."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        ref: Ref | None = None,
        causes: Sequence[Cause] = (),
        hint: str = "",
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.ref = ref
        self.causes = tuple(causes)
        self.hint = hint
        self.retry_after = retry_after

    def status(self) -> Document:
        """The body of the answer."""
        details: Document = {}
        if self.ref is not None:
            details |= {"name": self.ref.name, "kind": self.ref.kind, "group": "rmctl"}
        if self.causes:
            details["causes"] = [cause.as_document() for cause in self.causes]
        if self.hint:
            details["hint"] = self.hint
        if self.retry_after is not None:
            details["retryAfterSeconds"] = self.retry_after
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": details,
            "code": self.code,
        }


def called(ref: Ref) -> str:
    """`bundle "ch-1"`; a job by the name that people use."""
    key = job_key(ref.name) if ref.kind == "job" else None
    return f'{ref.kind} "{key.people if key else ref.name}"'


def not_found(ref: Ref) -> Problem:
    return Problem(404, "NotFound", f"{called(ref)}: not found", ref=ref)


def already_exists(ref: Ref) -> Problem:
    return Problem(409, "AlreadyExists", f"{called(ref)}: already exists", ref=ref)


def conflict(ref: Ref, message: str, *, causes: Sequence[Cause] = (), hint: str = "") -> Problem:
    return Problem(409, "Conflict", f"{called(ref)}: {message}", ref=ref, causes=causes, hint=hint)


def stale(ref: Ref, have: int, now: int | None) -> Problem:
    """`now` None: it is gone, or was never there."""
    return conflict(ref, f"changed since you read it (have {have}, now {'gone' if now is None else now})")


def being_deleted(ref: Ref, since: float) -> Problem:
    return conflict(ref, f"is being deleted since {rfc3339(float(int(since)))}")


def forbidden(ref: Ref, message: str, *, hint: str = "") -> Problem:
    return Problem(403, "Forbidden", f"{called(ref)}: {message}", ref=ref, hint=hint)


def bad_request(message: str, *, hint: str = "") -> Problem:
    return Problem(400, "BadRequest", message, hint=hint)


def gone() -> Problem:
    return Problem(410, "Expired", "too old, list again")


def invalid(errors: Sequence[FieldError], ref: Ref | None = None, *, document: int | None = None) -> Problem:
    """One problem out of every field error of a document."""
    causes = [cause_of(error, document) for error in errors]
    text = "; ".join(map(str, errors))
    return Problem(
        422,
        "Invalid",
        f"{called(ref)}: {text}" if ref else text,
        ref=ref,
        causes=causes,
        hint=next((error.hint for error in errors if error.hint), ""),
    )


def cause_of(error: FieldError, document: int | None = None) -> Cause:
    reason = "FieldValueInvalid"
    if error.unknown:
        reason = "FieldValueUnknown"
    elif error.message.startswith("required"):
        reason = "FieldValueRequired"
    return Cause(error.message, error.path, reason, error.hint, document, error.code)


def translated(error: Exception, ref: Ref | None = None) -> Problem | None:
    """The problem behind an error of the layers below; None for what is no refusal."""
    match error:
        case Problem():
            return error
        case Invalid():
            return invalid(error.errors, ref)
        case Undefined():
            return Problem(422, "Invalid", f"{called(error.ref)}: {error}", ref=error.ref, hint=error.hint)
        case SourceChanged():
            return conflict(error.ref, str(error))
        case store_errors.Conflict():
            return stale(error.ref, error.expected, error.found)
        case store_errors.NotFound():
            return not_found(error.ref)
        case store_errors.BeingDeleted():
            return being_deleted(error.ref, error.since)
        case _:
            return None


def together(problems: Sequence[tuple[int, Problem]]) -> Problem:
    """The answer to a set of documents of which some are refused; at least one (index, problem) pair."""
    causes: list[Cause] = []
    for index, problem in problems:
        own = [replace(cause, document=index) for cause in problem.causes]
        causes += own or [Cause(problem.message, "", problem.reason, problem.hint, index)]
    first = problems[0][1]
    more = f" (and {len(problems) - 1} more of the documents)" if len(problems) > 1 else ""
    return Problem(first.code, first.reason, first.message + more, ref=first.ref, causes=causes, hint=first.hint)
