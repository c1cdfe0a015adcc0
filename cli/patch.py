"""`rmctl patch`: a merge, strategic merge or JSON patch of one resource, given on the line or in a file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli import paths
from cli.client import MERGE
from cli.errors import BadManifest, Problem, UsageProblem
from cli.patching import MANAGER, UNCHANGED, told
from cli.reading.place import Lines, Malformed
from cli.reading.source import Source, sources
from cli.session import Session
from cli.targets import named
from cli.terminal import safe

TYPES = {
    "merge": MERGE,
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
}


def patch(
    context: typer.Context,
    what: Annotated[list[str], typer.Argument(metavar="KIND NAME", help="KIND NAME or KIND/NAME")],
    text: Annotated[str, typer.Option("--patch", metavar="TEXT", help="JSON or YAML (-p is the project here)")] = "",
    file: Annotated[str, typer.Option("--patch-file", metavar="FILE", help="a file, or - for stdin")] = "",
    type_: Annotated[str, typer.Option("--type", metavar="merge|strategic|json")] = "merge",
    dry_run: Annotated[str, typer.Option("--dry-run", metavar="[=server]", help="check only; nothing is stored")] = "",
) -> int:
    """Change fields of a resource. A merge patch names what changes; null removes."""
    session: Session = context.obj
    form = session.output("json", "yaml", "name")
    if type_ not in TYPES:
        raise UsageProblem(f'--type "{type_}": one of {", ".join(TYPES)}')
    body = _read(text, file)
    if not isinstance(body, list if type_ == "json" else dict):
        raise UsageProblem(f"a {type_} patch is {'a list of operations' if type_ == 'json' else 'an object'}")
    found = named(what, session.kind)
    query = {"fieldManager": MANAGER, **({"dryRun": "All"} if dry_run else {})}
    written, same = [], []
    for target in found:
        path = paths.item(target, target.project or session.project)
        written.append(session.client.send("PATCH", path, body, query=query, content_type=TYPES[type_]))
        if session.client.outcome == UNCHANGED:
            same.append(target)
    done = "patched (server dry run)" if dry_run else "patched"
    return told(form, found, written, done, "rmctl get {target}", same=same)


def _read(text: str, file: str) -> Any:
    if bool(text) == bool(file):
        raise UsageProblem("give the patch with --patch TEXT or with --patch-file FILE")
    source = Source("--patch", text) if text else next(iter(sources([file])))
    lines = Lines(source.text)
    try:
        return parsed(source)
    except Malformed as error:
        line, column = lines.at(error.offset)
        raise BadManifest([Problem(f"{safe(source.name)}:{line}:{column}", error.text)]) from None


def parsed(source: Source) -> Any:
    """The one value of a text, JSON or YAML, under the rules for manifests. Raises Malformed."""
    if source.is_json:
        from cli.reading.json_reader import read_json

        return read_json(source.text).value
    from cli.reading.yaml_reader import read_yaml

    found = read_yaml(source.text)
    if len(found) != 1:
        raise Malformed("one document is expected", 0)
    return found[0].value
