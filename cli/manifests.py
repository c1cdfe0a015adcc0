"""Manifests: the documents behind `-f`, each a JSON object that remembers where every field stands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cli import messages
from cli.errors import BadManifest, Cause, Problem
from cli.reading.json_reader import read_json
from cli.reading.place import Lines, Malformed, Placed, step
from cli.reading.source import Source, sources
from cli.terminal import safe
from resources.canonical import Document
from resources.names import shown

API_VERSION = "rmctl/v1"
MAX_SPEC_BYTES = 1024 * 1024
SEED_ONLY = ("bundleId", "state", "replicaCount")


@dataclass(frozen=True)
class Manifest:
    """One document. `document` is the canonical envelope; `base` and `seed` lead its field paths back into the file."""

    document: Document
    source: str
    lines: Lines
    placed: Placed
    base: str = ""
    seed: bool = False

    @property
    def kind(self) -> str:
        kind = self.document.get("kind")
        return kind if isinstance(kind, str) else ""

    @property
    def metadata(self) -> Document:
        metadata = self.document.get("metadata")
        return metadata if isinstance(metadata, dict) else {}

    @property
    def name(self) -> str:
        name = self.metadata.get("name")
        return name if isinstance(name, str) else ""

    @property
    def project(self) -> str:
        """Empty when the document names none."""
        project = self.metadata.get("project") or self.metadata.get("namespace") or ""
        return project if isinstance(project, str) else ""

    def where(self, path: str) -> str:
        """`FILE:LINE:COLUMN` of a field of the document, or of the nearest thing around it."""
        line, column = self.lines.at(self.placed.offset(self._in_file(path)))
        return f"{safe(self.source)}:{line}:{column}"

    def _in_file(self, path: str) -> str:
        if self.seed:
            path = "bundleId" if path.startswith("metadata") else path.removeprefix("spec").removeprefix(".")
        return f"{self.base}.{path}" if self.base and path else self.base or path


def load(names: Sequence[str], *, recursive: bool = False) -> list[Manifest]:
    """Every document behind the names, in order. Raises BadManifest with every problem of the first bad source."""
    if not names:
        raise BadManifest([Problem("", messages.NO_INPUT)])
    found = [manifest for source in sources(list(names), recursive=recursive) for manifest in _documents(source)]
    _refuse_twice(found)
    return found


def located(causes: Iterable[Cause], manifests: Sequence[Manifest]) -> list[Problem]:
    """What a server refused, with the place in the file. A cause without a document is of the only one."""
    problems = []
    for cause in causes:
        index = cause.document if cause.document is not None else 0 if len(manifests) == 1 else None
        known = index is not None and 0 <= index < len(manifests)
        problems.append(Problem(manifests[index].where(cause.field) if known and index is not None else "", str(cause)))
    return problems


def _documents(source: Source) -> Iterator[Manifest]:
    lines = Lines(source.text)
    try:
        parsed = _parsed(source)
    except Malformed as error:
        raise _bad(source, lines, error) from None
    if not parsed:
        raise BadManifest([Problem(safe(source.name), messages.EMPTY)])
    for placed in parsed:
        yield from _unfolded(source, lines, placed, placed.value, "")


def _parsed(source: Source) -> list[Placed]:
    if source.is_json:
        return [read_json(source.text)]
    from cli.reading.yaml_reader import read_yaml

    return read_yaml(source.text)


def _unfolded(source: Source, lines: Lines, placed: Placed, value: Any, base: str) -> Iterator[Manifest]:
    """A List becomes its items; the seed's flat bundle becomes an envelope."""
    if not isinstance(value, dict):
        raise _bad(source, lines, Malformed(messages.TOP_LEVEL, placed.offset(base), base))
    if value.get("kind") == "List":
        items = value.get("items")
        if not isinstance(items, list):
            raise _bad(source, lines, Malformed(messages.ITEMS, placed.offset(step(base, "items"))))
        for index, item in enumerate(items):
            yield from _unfolded(source, lines, placed, item, step(step(base, "items"), index))
        return
    seed = "kind" not in value and "bundleId" in value
    document = _from_seed(source, lines, placed, value, base) if seed else value
    size = len(json.dumps(document.get("spec"), separators=(",", ":"), ensure_ascii=False).encode())
    if size > MAX_SPEC_BYTES:
        raise _bad(
            source, lines, Malformed(messages.SPEC_TOO_LARGE.format(size=size), placed.offset(step(base, "spec")))
        )
    yield Manifest(document, source.name, lines, placed, base, seed)


def _from_seed(source: Source, lines: Lines, placed: Placed, value: Document, base: str) -> Document:
    """The bundle as the first seed writes it: no envelope, `bundleId` for a name."""
    if value.get("state", "live") != "live":
        raise _bad(source, lines, Malformed(messages.SEED_STATE, placed.offset(step(base, "state"))))
    if "replicaCount" in value:
        raise _bad(source, lines, Malformed(messages.SEED_REPLICA_COUNT, placed.offset(step(base, "replicaCount"))))
    spec = {key: item for key, item in value.items() if key not in SEED_ONLY and key != "apiVersion"}
    return {
        "apiVersion": value.get("apiVersion", API_VERSION),
        "kind": "bundle",
        "metadata": {"name": value["bundleId"]},
        "spec": spec,
    }


def _refuse_twice(manifests: Sequence[Manifest]) -> None:
    seen: dict[tuple[str, str, str], int] = {}
    for number, manifest in enumerate(manifests, 1):
        key = (manifest.kind, manifest.project, manifest.name)
        if manifest.name and key in seen:
            text = messages.SAME_TWICE.format(shown=shown(manifest.kind, manifest.name), first=seen[key], second=number)
            raise BadManifest([Problem(manifest.where("metadata.name"), text)])
        seen.setdefault(key, number)


def _bad(source: Source, lines: Lines, error: Malformed) -> BadManifest:
    line, column = lines.at(error.offset)
    return BadManifest([Problem(f"{safe(source.name)}:{line}:{column}", error.text)])
