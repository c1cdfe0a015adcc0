"""The flags that every verb takes, wherever they stand on the line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cli.errors import UsageProblem
from cli.verbs import VERBS

LONG = {"--project": "project", "--server": "server", "--context": "context", "--output": "output"}
SHORT = {"-p": "project", "-n": "project", "-o": "output"}


class Flags(NamedTuple):
    """As they were given; None for what was not."""

    project: str | None = None
    server: str | None = None
    context: str | None = None
    output: str | None = None


def split(words: Sequence[str]) -> tuple[Flags, str | None, list[str]]:
    """The global flags, the verb, and what is left for the verb. Raises UsageProblem for a flag without its value."""
    flags, verb, rest = Flags(), None, list[str]()
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word == "--":
            return flags, verb, [*rest, word, *queue]
        if verb is None and not word.startswith("-"):
            verb = word
            if verb in VERBS and VERBS[verb].own_flags:
                return flags, verb, [*rest, *queue]
            continue
        field, value = _global(word)
        if field is None:
            rest.append(_respelled(word))
        else:
            if value is None:
                if not queue:
                    raise UsageProblem(f"{word} needs a value")
                value = queue.pop(0)
            if verb == "patch" and word.startswith("-p") and value[:1] in ("{", "["):
                rest += ["--patch", value]  # as kubectl has it: no project is called so
                continue
            flags = flags._replace(**{field: value})
    return flags, verb, rest


def _global(word: str) -> tuple[str | None, str | None]:
    """The field that a word sets, and the value that it carries itself."""
    name, equals, value = word.partition("=")
    if name in LONG:
        return LONG[name], value if equals else None
    short = word[:2]
    if short in SHORT and not word.startswith("--"):
        return SHORT[short], word[2:].removeprefix("=") or None
    return None, None


def _respelled(word: str) -> str:
    """`--wait=false` as the parser knows it, and a bare `--dry-run` as the server's."""
    if word == "--dry-run":
        return "--dry-run=server"
    name, _, value = word.partition("=")
    if not name.startswith("--") or value not in ("true", "false"):
        return word
    return name if value == "true" else f"--no-{name[2:]}"
