"""The print boundary: nothing that is printed moves a cursor, changes a colour or turns the writing around."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.terminal import safe, safe_json, safe_lines


@pytest.mark.req("B37")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain × text", "plain × text"),
        ("\x1b[2J\x1b[31mX", "\\x1b[2J\\x1b[31mX"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("line\r\nline\tend\x00", "line\\x0d\\x0aline\\x09end\\x00"),
        ("\x9b31m\x7f", "\\x9b31m\\x7f"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text: str, shown: str) -> None:
    assert safe(text) == shown


@given(st.text())
def test_safe_text_is_one_printable_line(text: str) -> None:
    assert safe(text).isprintable()


@given(st.text())
def test_safe_lines_keep_lines_and_tabs_alone(text: str) -> None:
    assert all(part.isprintable() for line in safe_lines(text).split("\n") for part in line.split("\t"))


@pytest.mark.req("B40")
@given(st.dictionaries(st.text(), st.text()))
def test_safe_json_is_the_same_json(document: dict[str, str]) -> None:
    printed = safe_json(json.dumps(document, ensure_ascii=False, indent=2))
    assert json.loads(printed) == document
    assert printed.replace("\n", "").isprintable()


@pytest.mark.req("B83")
def test_a_terminal_that_knows_ascii_only_gets_escapes() -> None:
    code = "from cli.terminal import prepare, out, safe\nprepare()\nout(safe('2 × 日'))"
    environment = {**os.environ, "LANG": "C", "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert ran.stdout == b"2 \\xd7 \\u65e5\n"
