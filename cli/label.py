"""`rmctl label` and `rmctl annotate`: KEY=VALUE sets, KEY- removes; what stands is changed only when asked to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from cli.errors import ServerRefused, UsageProblem
from cli.fetching import every, one
from cli.patching import UNCHANGED, change, told
from cli.session import Session
from cli.targets import Target, targets
from cli.views.wire import Document, metadata

CONFLICT = 409
Words = Annotated[
    list[str], typer.Argument(metavar="KIND NAME... KEY=VALUE... KEY-...", help="KEY- removes; KIND/NAME will do too")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="change what has another value now")]
Selector = Annotated[str, typer.Option("-l", "--selector", help="every one of the kind that carries these labels")]
DryRun = Annotated[str, typer.Option("--dry-run", metavar="[=server]", help="check only; nothing is stored")]
Marks = Mapping[str, str | None]
"""What is set (a value) and what is removed (None)."""


def label(
    context: typer.Context, words: Words, overwrite: Overwrite = False, selector: Selector = "", dry_run: DryRun = ""
) -> int:
    """Set or remove labels."""
    return _marked(context.obj, "labels", words, overwrite=overwrite, selector=selector, dry_run=bool(dry_run))


def annotate(
    context: typer.Context, words: Words, overwrite: Overwrite = False, selector: Selector = "", dry_run: DryRun = ""
) -> int:
    """Set or remove annotations."""
    return _marked(context.obj, "annotations", words, overwrite=overwrite, selector=selector, dry_run=bool(dry_run))


def _marked(session: Session, field: str, words: list[str], *, overwrite: bool, selector: str, dry_run: bool) -> int:
    form = session.output("json", "yaml", "name")
    about, marks = _parted(words)
    if not marks:
        raise UsageProblem(f"which {field}: KEY=VALUE sets one, KEY- removes one")
    found, documents = _found(session, about, selector)
    written, same = [], []
    for target, document in zip(found, documents, strict=True):
        standing = metadata(document).get(field) or {}
        _refuse(target, field, standing, marks, overwrite=overwrite)
        body: dict[str, Any] = {"metadata": {field: dict(marks)}}
        if not overwrite:
            body["metadata"]["resourceVersion"] = metadata(document).get("resourceVersion")
        written.append(change(session, target, body, dry_run=dry_run))
        if session.client.outcome == UNCHANGED:
            same.append(target)
    done = {"labels": "labelled", "annotations": "annotated"}[field]
    return told(form, found, written, f"{done} (server dry run)" if dry_run else done, same=same)


def _parted(words: list[str]) -> tuple[list[str], Marks]:
    """The words that say what, and the marks: no name has an `=` in it or ends with a hyphen."""
    about = [word for word in words if "=" not in word and not word.endswith("-")]
    values: dict[str, str | None] = {}
    for word in words:
        if word in about:
            continue
        key, equals, value = word.partition("=")
        if not equals:
            key = word[:-1]
        if not key:
            raise UsageProblem(f'"{word}": expected KEY=VALUE or KEY-')
        if key in values:
            raise UsageProblem(f'"{key}" is named twice')
        values[key] = value if equals else None
    return about, values


def _found(session: Session, about: list[str], selector: str) -> tuple[list[Target], list[Document]]:
    wanted = targets(about, session.kind)
    if all(target.name for target in wanted):
        if selector:
            raise UsageProblem("a selector and a name do not go together")
        return wanted, [one(session, target) for target in wanted]
    if not selector:
        raise UsageProblem(f"{wanted[0].kind.name}: a name or a selector (-l) is needed")
    found = [
        (Target(target.kind, str(metadata(item)["name"])), item)
        for target in wanted
        for item in every(session, target.kind, {"labelSelector": selector}).items
    ]
    if not found:
        raise UsageProblem(f'no {wanted[0].kind.plural} carry "{selector}"')
    return [target for target, _ in found], [item for _, item in found]


def _refuse(target: Target, field: str, standing: Mapping[str, str], marks: Marks, *, overwrite: bool) -> None:
    """Raises ServerRefused, as the server would, for a value that is not to be lost unasked."""
    for key, value in marks.items():
        other = value is not None and key in standing and standing[key] != value
        if other and not overwrite:
            text = f'{target}: {field[:-1]} {key} is "{standing[key]}" now'
            raise ServerRefused(CONFLICT, "Conflict", text, hint="--overwrite changes it")
