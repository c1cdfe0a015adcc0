"""Shapes: what manifests of each definition's kind look like, as the files themselves say."""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

from controllers.definitions.discovery import Folders
from controllers.definitions.loading import Unusable, source
from controllers.definitions.proposals import Definitions, Source
from resources.kind import Undefined
from resources.reference import Ref
from resources.shape import Shape

REMEMBERED = 256
AT_ONCE = 4
"""Files that are asked at one time."""


class Shapes:
    """An answer is good for a file as it was hashed."""

    def __init__(self, folders: Folders, definitions: Definitions) -> None:
        self._folders = folders
        self._definitions = definitions
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], Shape] = OrderedDict()

    def of(self, ref: Ref) -> Shape:
        """Of a kind in a project. Raises Undefined."""
        return self._asked(ref, self._definitions.find(ref))

    def every(self) -> tuple[Shape, ...]:
        """Of the kinds that have one file for all projects. One that does not answer is left out."""
        self._definitions.refresh()
        wanted = [(Ref(kind, ""), at) for kind, at in self._single().items()]
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="shapes") as asking:
            found = asking.map(lambda one: self._tried(*one), wanted)
        return tuple(shape for shape in found if shape is not None)

    def _tried(self, ref: Ref, at: Source) -> Shape | None:
        try:
            return self._asked(ref, at)
        except Undefined:
            return None

    def _asked(self, ref: Ref, at: Source) -> Shape:
        with self._lock:
            known = self._known.get((ref.kind, at.digest))
        if known is not None:
            return known
        said = self._definitions.ask(ref, at, {"do": "schema"})
        if not isinstance(said.get("schemas"), dict):
            raise Undefined(ref, f"{at.path}: {said.get('failed', 'it said what is no schema')}")
        shape = Shape(ref.kind, at.digest, said["schemas"], str(said.get("description", "")))
        with self._lock:
            self._known[ref.kind, at.digest] = shape
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return shape

    def _single(self) -> dict[str, Source]:
        """The kinds whose file is the same, word for word, wherever there is one."""
        found: dict[str, dict[str, Source]] = {}
        for project in ("", *self._folders.projects):
            for kind, path in self._folders.of(project).files.items():
                try:
                    at = Source(path, source(path)[1])
                except Unusable:
                    at = Source(path, "")
                found.setdefault(kind, {})[at.digest] = at
        return {kind: at for kind, sources in found.items() for at in sources.values() if len(sources) == 1}
