"""`rmctl edit`: a resource in an editor; what cannot be taken comes back with the reason on top."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from cli.editable import as_yaml, editable, merge_patch
from cli.errors import BadEnvironment, CliError, ServerRefused, UsageProblem
from cli.fetching import one
from cli.patch import parsed
from cli.patching import change
from cli.reading.place import Lines, Malformed
from cli.reading.source import Source
from cli.session import Session
from cli.targets import Target
from cli.targets import one as one_of
from cli.terminal import out, safe, say
from cli.views.wire import Document, metadata

HEADER = "# {target}. What stands here is taken when the editor ends; an empty or unchanged file changes nothing."
COMMENT = "#"
STALE = 409


def edit(
    context: typer.Context,
    what: Annotated[list[str], typer.Argument(metavar="KIND NAME", help="KIND NAME or KIND/NAME")],
) -> int:
    """Open a resource in $RMCTL_EDITOR, $VISUAL or $EDITOR (else vi), and store what comes back."""
    session: Session = context.obj
    session.output()
    target = one_of(what, session.kind)
    live = one(session, target)
    words = _editor()
    descriptor, name = tempfile.mkstemp(prefix=f"rmctl-{target.kind.name}-", suffix=".yaml")
    os.close(descriptor)
    path = Path(name)
    try:
        outcome = _until_taken(session, target, live, path, words)
    except CliError:
        if _without_comments(path.read_text(encoding="utf-8", errors="surrogateescape")) in (
            "",
            as_yaml(editable(live)),
        ):
            path.unlink()
        else:
            say(f"What you wrote is kept in {path}")
        raise
    path.unlink()
    out(f"{target} {outcome}")
    return 0


def _until_taken(session: Session, target: Target, live: Document, path: Path, words: Sequence[str]) -> str:
    """`edited` or `unchanged`. Raises the last refusal when it is handed in a second time as it stands; without a
    terminal nobody reads the reason, and the second refusal is the last.
    """
    before = editable(live)
    text = as_yaml(before)
    problems: list[str] = []
    refusal: CliError | None = None
    while True:
        path.write_text(_page(target, text, problems), encoding="utf-8")
        _run(words, path)
        written = _without_comments(path.read_text(encoding="utf-8", errors="surrogateescape"))
        if refusal is not None and written == text:
            raise refusal
        if not written.strip():
            return "unchanged"
        text = written
        try:
            after = _document(written)
            patch = merge_patch(before, after)
            if not patch:
                return "unchanged"
            _same_object(before, after)
            patch.setdefault("metadata", {})["resourceVersion"] = metadata(live).get("resourceVersion")
            change(session, target, patch)
        except CliError as error:
            if refusal is not None and not sys.stdin.isatty():
                raise
            problems, refusal = [*error.lines(), *([f"hint: {error.hint}"] if error.hint else [])], error
            if isinstance(error, ServerRefused) and error.code == STALE:
                live = one(session, target)
                problems.append("it was changed meanwhile: what you save now is compared with the newest")
                before = editable(live)
        else:
            return "edited"


def _page(target: Target, text: str, problems: Sequence[str]) -> str:
    lines = [HEADER.format(target=target), *(f"{COMMENT} error: {safe(problem)}" for problem in problems), COMMENT]
    return "\n".join(lines) + "\n" + text


def _without_comments(text: str) -> str:
    """Less the lines above the document that are comments; those inside it are YAML's own."""
    lines = text.splitlines(keepends=True)
    while lines and lines[0].startswith(COMMENT):
        lines.pop(0)
    return "".join(lines)


def _document(text: str) -> Document:
    lines = Lines(text)
    try:
        found = parsed(Source("edited.yaml", text))
    except Malformed as error:
        line, column = lines.at(error.offset)
        raise UsageProblem(f"{line}:{column}: {error.text}") from None
    if not isinstance(found, dict) or not isinstance(found.get("metadata"), dict):
        raise UsageProblem("an object with metadata and a spec is expected")
    return found


def _same_object(before: Document, after: Document) -> None:
    for part in ("name", "project"):
        if metadata(before).get(part) != metadata(after).get(part):
            raise UsageProblem(f"metadata.{part}: an edit keeps it; apply makes another resource")
    for part in ("apiVersion", "kind"):
        if before.get(part) != after.get(part):
            raise UsageProblem(f"{part}: an edit keeps it")


def _editor() -> list[str]:
    for name in ("RMCTL_EDITOR", "VISUAL", "EDITOR"):
        text = os.environ.get(name, "").strip()
        if text:
            try:
                return shlex.split(text)
            except ValueError as error:
                raise UsageProblem(f"{name}: {error}") from None
    return ["vi"]


def _run(words: Sequence[str], path: Path) -> None:
    try:
        code = subprocess.run([*words, str(path)], check=False).returncode
    except OSError as error:
        raise BadEnvironment(f"editor {words[0]}: {error.strerror}", hint="set EDITOR") from None
    if code:
        raise BadEnvironment(f"editor {words[0]} ended with {code}; nothing is stored")
