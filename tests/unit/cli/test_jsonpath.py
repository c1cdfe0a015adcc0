"""JSONPath the way kubectl takes it."""

from __future__ import annotations

import pytest

from cli.errors import UsageProblem
from cli.jsonpath import evaluate

POD = {
    "metadata": {"name": "a", "labels": {"rmctl/job": "web", "x.y": "z"}},
    "status": {"pid": 7, "ok": True, "none": None, "conditions": [{"type": "Ready", "status": "True"}, {"type": "Up"}]},
    "items": [{"n": "one", "p": [1, 2]}, {"n": "two", "p": []}],
}


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("{.status.pid}", "7"),
        (".status.pid", "7"),
        ("status.pid", "7"),
        ("{$.status.pid}", "7"),
        ("{.status.ok}", "true"),
        ("{.status.none}", "null"),
        ("{.nothing.here}", ""),
        ("{.metadata.labels.rmctl/job}", "web"),
        ("{.metadata.labels.x\\.y}", "z"),
        ("{.metadata.labels['x.y']}", "z"),
        ("{.items[*].n}", "one two"),
        ("{.items[-1].n}", "two"),
        ("{.items[0].p}", "[1, 2]"),
        ("{..n}", "one two"),
        ('{.status.conditions[?(@.type=="Ready")].status}', "True"),
        ('pid {.status.pid}{"\\n"}', "pid 7\n"),
        ('{range .items[*]}{.n}={.p[*]}{"\\t"}{end}done', "one=1 2\ttwo=\tdone"),
        ("{range .nothing[*]}{.n}{end}", ""),
        ("{range .items[*]}{range .p[*]}<{@}>{end}{end}", "<1><2>"),
    ],
)
def test_an_expression_has_its_text(expression: str, text: str) -> None:
    assert evaluate(expression, POD) == text


@pytest.mark.parametrize("expression", ["{.a", "{.a[}", "{range .items[*]}x", "{end}", "{.a[?(@.b=]}", "{.a b}"])
def test_what_cannot_be_read_is_a_usage_error(expression: str) -> None:
    with pytest.raises(UsageProblem, match="jsonpath: "):
        evaluate(expression, POD)


def test_what_is_found_is_printed_safely() -> None:
    assert evaluate("{.a}", {"a": "\x1b[31m"}) == "\\x1b[31m"
