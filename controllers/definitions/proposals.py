"""Definitions as a server knows them: which file is behind a kind, and what it says of a spec before that is stored."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

from controllers.definitions.channel import Broken
from controllers.definitions.discovery import Folders
from controllers.definitions.loading import Unusable, source
from controllers.definitions.pool import Pool
from resources import registry
from resources.canonical import Document, fingerprint
from resources.kind import Undefined, Unresolved
from resources.reference import Ref
from resources.validation import FieldError, Invalid

REMEMBERED = 1024


class Source(NamedTuple):
    """A definition file as it stands now."""

    path: Path
    digest: str


Key = tuple[Path, str, str]


class Definitions:
    """A proposal is good for a file as it was hashed, and for one spec; a file that changed is asked again."""

    def __init__(self, folders: Folders, pool: Pool) -> None:
        self._folders = folders
        self._pool = pool
        self._lock = threading.Lock()
        self._known: OrderedDict[Key, Document] = OrderedDict()

    def refresh(self) -> None:
        """Make every kind known that has a file by now."""
        for kind in self._folders.every():
            registry.define(kind, self.propose)

    def find(self, ref: Ref) -> Source:
        """The file behind a resource's kind in its project. Raises Undefined."""
        found = self._folders.of(ref.project)
        path = found.files.get(ref.kind)
        if path is None:
            hint = f"a definition is a file .rm/resource-managers/{ref.kind}.resource_manager.py of the project"
            refused = next((why for one, why in found.refused.items() if one.name.startswith(f"{ref.kind}.")), "")
            raise Undefined(ref, refused or f'no definition of {ref.kind} in project "{ref.project}"', hint)
        try:
            return Source(path, source(path)[1])
        except Unusable as error:
            raise Undefined(ref, str(error)) from error

    def propose(self, ref: Ref, spec: Document) -> Document:
        """The initial status of a resource with this spec. Raises Unresolved, Undefined, Invalid."""
        at = self.find(ref)
        with self._lock:
            known = self._known.get((at.path, at.digest, fingerprint(spec)))
        if known is None:
            raise Unresolved(ref, lambda: self._ask(ref, at, spec))
        if "errors" in known:
            raise Invalid([FieldError(**error) for error in known["errors"]])
        status: Document = known["status"]
        return status

    def _ask(self, ref: Ref, at: Source, spec: Document) -> None:
        """A child process is asked; what it says is remembered. Raises Undefined."""
        proposal = _proposal(self.ask(ref, at, {"do": "resolve", "specs": [spec]}))
        if proposal is None:
            raise Undefined(ref, f"{at.path}: it said what is no answer about a spec")
        with self._lock:
            self._known[at.path, at.digest, fingerprint(spec)] = proposal
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)

    def ask(self, ref: Ref, at: Source, question: Document) -> Document:
        """What a child process that has loaded the file answers. Raises Undefined."""
        try:
            runner = self._pool.take(at.path, at.digest, ref.project)
        except Unusable as error:
            raise Undefined(ref, str(error)) from error
        try:
            runner.channel.send(question)
            said = runner.channel.receive(self._pool.limits.load_seconds)
        except Broken:
            self._pool.retire(runner, now=True)
            raise Undefined(ref, f"{at.path}: {runner.ended()}") from None
        if said is None:
            self._pool.retire(runner)
            raise Undefined(ref, f"{at.path}: no answer about a spec after {self._pool.limits.load_seconds:g} s")
        self._pool.give_back(runner, said)
        return said


def _proposal(said: Document) -> Document | None:
    """The one proposal of an answer; None for what is none."""
    proposals = said.get("proposals")
    match proposals:
        case [{"status": dict()} as one] | [{"errors": [*_]} as one]:
            return dict(one)
        case _:
            return None
