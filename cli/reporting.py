"""How an error leaves: lines on stderr, one hint, and a Status on stdout for `-o json`."""

from __future__ import annotations

from collections.abc import Sequence

from cli.errors import CliError
from cli.output import emit_json
from cli.terminal import say

MOST_LINES = 20


def report(error: CliError, words: Sequence[str]) -> None:
    """`words` are the command line: it says whether a program reads stdout."""
    if wants_json(words):
        emit_json(error.document())
    lines = list(error.lines())
    for line in lines[:MOST_LINES]:
        say(f"rmctl: error: {line}")
    if len(lines) > MOST_LINES:
        say(f"rmctl: error: and {len(lines) - MOST_LINES} more")
    if error.hint:
        say(f"hint: {error.hint}")


def wants_json(words: Sequence[str]) -> bool:
    """Whether `-o json` is among them, however it is written."""
    before = list(words[: words.index("--")] if "--" in words else words)
    for index, word in enumerate(before):
        if word in ("-ojson", "-o=json", "--output=json"):
            return True
        if word in ("-o", "--output") and before[index + 1 : index + 2] == ["json"]:
            return True
    return False
