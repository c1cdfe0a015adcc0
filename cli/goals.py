"""What a wait may wait for, and whether an object is there; no status that is behind the spec is believed."""

from __future__ import annotations

from dataclasses import dataclass

from cli import messages
from cli.errors import UsageProblem
from cli.views.wire import Document, condition, is_behind, metadata


@dataclass(frozen=True)
class Condition:
    """`--for=Ready`, `--for=condition=TYPE[=STATUS]`."""

    type: str
    status: str = "True"

    def reached(self, document: Document) -> bool:
        found = condition(document, self.type)
        return found.get("status") == self.status and not is_behind(document) and _is_current(found, document)

    def __str__(self) -> str:
        return self.type if self.status == "True" else f"{self.type}={self.status}"


@dataclass(frozen=True)
class Gone:
    """`--for=delete`."""

    def reached(self, _document: Document) -> bool:
        return False

    def __str__(self) -> str:
        return "delete"


@dataclass(frozen=True)
class Value:
    """`--for=jsonpath=EXPRESSION[=VALUE]`; without a value, anything there will do."""

    expression: str
    value: str | None = None

    def reached(self, document: Document) -> bool:
        from cli.jsonpath import evaluate

        found = evaluate(self.expression, document)
        if "status" in self.expression and is_behind(document):
            return False
        return found == self.value if self.value is not None else found != ""

    def __str__(self) -> str:
        return self.expression if self.value is None else f"{self.expression}={self.value}"


Goal = Condition | Gone | Value
READY = Condition("Ready")
STATUSES = {"true": "True", "false": "False", "unknown": "Unknown"}


def parse_goal(text: str) -> Goal:
    """Raises UsageProblem."""
    word, _, rest = text.partition("=")
    if text.lower() == "ready":
        return READY
    if text.lower() == "delete":
        return Gone()
    if word == "condition" and rest:
        kind, _, status = rest.partition("=")
        wanted = STATUSES.get(status.lower() or "true")
        if kind and wanted:
            return Condition(kind, wanted)
    if word == "jsonpath" and rest:
        return _value(rest)
    raise UsageProblem(messages.FOR.format(text=text))


def _value(text: str) -> Value:
    """The value follows the brace that closes the expression; without braces, the last `=` outside brackets."""
    from cli.jsonpath import evaluate

    end = text.rfind("}=") + 1 if "{" in text else _equals(text)
    goal = Value(text[:end], text[end + 1 :]) if end > 0 else Value(text)
    evaluate(goal.expression, {})
    return goal


def _equals(text: str) -> int:
    end = text.rfind("=")
    return end if end > 0 and "]" not in text[end:] else 0


def stalled(document: Document) -> Document:
    """The Stalled condition when it is true of the present spec; else empty."""
    found = condition(document, "Stalled")
    current = found.get("status") == "True" and not is_behind(document) and _is_current(found, document)
    return found if current else {}


def _is_current(found: Document, document: Document) -> bool:
    observed, generation = found.get("observedGeneration"), metadata(document).get("generation")
    return not isinstance(observed, int) or not isinstance(generation, int) or observed >= generation
