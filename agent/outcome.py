"""What came of a command: three answers, as they are journalled and sent."""

from __future__ import annotations

from dataclasses import dataclass

from resources.canonical import Document


@dataclass(frozen=True)
class Applied:
    """`pid` is 0 where there is none to tell."""

    pid: int = 0
    detail: str = ""


@dataclass(frozen=True)
class Rejected:
    code: str
    detail: str


@dataclass(frozen=True)
class Deferred:
    """It did not happen, and nothing of it is remembered."""

    detail: str
    retry_after: float


Final = Applied | Rejected
Outcome = Applied | Rejected | Deferred


def to_document(outcome: Final) -> Document:
    match outcome:
        case Applied(pid, detail):
            return {"applied": {"pid": pid, "detail": detail}}
        case Rejected(code, detail):
            return {"rejected": {"code": code, "detail": detail}}


def from_document(document: Document) -> Final:
    match document:
        case {"applied": {"pid": int(pid), "detail": str(detail)}}:
            return Applied(pid, detail)
        case {"rejected": {"code": str(code), "detail": str(detail)}}:
            return Rejected(code, detail)
    raise ValueError("neither applied nor rejected")
