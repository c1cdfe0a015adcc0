"""What can end a verb early: a message for people, an exit code, and a Status for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cli import messages

FOUND_DIFFERENCES = 1
FAILED = 1
USAGE = 2
REFUSED = 3
UNREACHABLE = 4
ENVIRONMENT = 5
NO_PLACE = 6
TIMED_OUT = 7
NOT_WELL = 8
INTERRUPTED = 130


class CliError(Exception):
    """`lines` are printed one by one behind `rmctl: error: `; `hint` follows them."""

    exit_code = FAILED
    reason = "Failed"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def lines(self) -> Sequence[str]:
        return (self.message,)

    def document(self) -> dict[str, Any]:
        """The Status that `-o json` prints."""
        details: dict[str, Any] = {"exitCode": self.exit_code}
        if self.hint:
            details["hint"] = self.hint
        return {
            "apiVersion": "v1",
            "kind": "Status",
            "status": "Failure",
            "reason": self.reason,
            "message": "; ".join(self.lines()),
            "details": details,
        }


class UsageProblem(CliError):
    """The command line cannot be taken as it stands."""

    exit_code = USAGE
    reason = "Usage"


class UnknownKind(UsageProblem):
    """No kind has this name; `near` is the one that was perhaps meant, or empty."""

    def __init__(self, word: str, near: str) -> None:
        message = messages.UNKNOWN_KIND.format(kind=word, near=f" (did you mean {near}?)" if near else "")
        super().__init__(message, hint="" if near else messages.KINDS_HINT)
        self.near = near


class Problem(NamedTuple):
    """`where` is `FILE:LINE:COLUMN`, or less of it."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class BadManifest(CliError):
    """A file cannot be taken; carries every problem found."""

    exit_code = USAGE
    reason = "Invalid"

    def __init__(self, problems: Sequence[Problem], *, hint: str = "") -> None:
        super().__init__(str(problems[0]), hint=hint)
        self.problems = tuple(problems)

    def lines(self) -> Sequence[str]:
        return [str(problem) for problem in self.problems]


class Unreachable(CliError):
    """No server answers, or not in a way that rmctl understands."""

    exit_code = UNREACHABLE
    reason = "Unreachable"


class BadEnvironment(CliError):
    """Something on this machine is in the way."""

    exit_code = ENVIRONMENT
    reason = "Environment"


class TimedOut(CliError):
    """The wait ended before what was waited for."""

    exit_code = TIMED_OUT
    reason = "Timeout"


class NotWell(CliError):
    """It came to an end, and not to a good one."""

    exit_code = NOT_WELL
    reason = "Stalled"


class NoPlace(CliError):
    """It cannot be placed now."""

    exit_code = NO_PLACE
    reason = "Unschedulable"


class Cause(NamedTuple):
    """One field that the server refuses; `document` counts the documents of a batch from 0."""

    field: str
    message: str
    document: int | None = None

    def __str__(self) -> str:
        bare = not self.field or self.message.startswith(("unknown field ", f"{self.field}: "))
        return self.message if bare else f"{self.field}: {self.message}"


class ServerRefused(CliError):
    """The server said no. 400 and 422 are the caller's text (2), 404 and the rest of 4xx a refusal (3).

    504 is an answer that did not come in time (7), 507 its disk (5), and a row that rotted is its store (5).
    """

    def __init__(self, code: int, reason: str, message: str, causes: Sequence[Cause] = (), *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.reason = reason
        self.causes = tuple(causes)
        self.exit_code = ENVIRONMENT if reason == CORRUPT else EXITS.get(code, FAILED)

    def lines(self) -> Sequence[str]:
        if self.causes and self.exit_code == USAGE:
            return [str(cause) for cause in self.causes]
        return (f"({self.reason}) {self.message}" if self.reason else self.message,)

    def document(self) -> dict[str, Any]:
        found = super().document()
        found["code"] = self.code
        if self.causes:
            found["details"]["causes"] = [{"field": c.field, "message": c.message} for c in self.causes]
        return found


CORRUPT = "CorruptRow"
EXITS = {
    **dict.fromkeys((400, 413, 422), USAGE),
    **dict.fromkeys((401, 403, 404, 409, 410), REFUSED),
    504: TIMED_OUT,
    507: ENVIRONMENT,
}
