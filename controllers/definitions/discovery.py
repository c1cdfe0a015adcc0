"""Where definition files are looked for, and what is found there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from controllers.definitions.loading import SUFFIX, WORKFLOW_SUFFIX, Unusable, kind_of
from resources import registry

FOLDER = "resource-managers"
WORKFLOWS = "workflows"
TAKEN = frozenset(
    "audit backup batch definitions diagnosis effect effects event events log metrics namespace namespaces plan "
    "project queue resource resources runs secret secrets server token tokens user users why".split()
)


@dataclass(frozen=True)
class Found:
    """Definition files by kind, and the files that are refused, with the reason."""

    files: Mapping[str, Path]
    refused: Mapping[Path, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Folders:
    """`shipped` comes with rmctl; the user's folder shadows it, and a project's own shadows both.

    All of these hold a folder for definitions, by default, and one for `workflows`.
    """

    user: Path
    projects: Mapping[str, Path] = field(default_factory=dict)
    shipped: Path | None = None
    what: str = FOLDER

    @property
    def suffix(self) -> str:
        return SUFFIX if self.what == FOLDER else WORKFLOW_SUFFIX

    def workflows(self) -> Folders:
        return replace(self, what=WORKFLOWS)

    def of(self, project: str) -> Found:
        """What a project sees."""
        files: dict[str, Path] = {}
        refused: dict[Path, str] = {}
        for place in self._places(project):
            for path in _listed(place, self.suffix):
                try:
                    name = _kind(path) if self.what == FOLDER else kind_of(path, self.suffix)
                    files[name] = path
                except Unusable as error:
                    refused[path] = str(error)
        return Found(files, refused)

    def places(self) -> tuple[Path, ...]:
        """The folders where people may put files, those of projects first."""
        own = (self._own(project) for project in self.projects)
        return tuple(place / self.what for place in (*own, self.user) if place is not None)

    def every(self) -> frozenset[str]:
        """The kinds that any project sees."""
        return frozenset(kind for project in ("", *self.projects) for kind in self.of(project).files)

    def paths(self) -> frozenset[Path]:
        """Every file that is a definition for some project."""
        return frozenset(path for project in ("", *self.projects) for path in self.of(project).files.values())

    def _places(self, project: str) -> list[Path]:
        return [place / self.what for place in (self.shipped, self.user, self._own(project)) if place is not None]

    def _own(self, project: str) -> Path | None:
        root = self.projects.get(project)
        return None if root is None else root / ".rm"


def _listed(place: Path, suffix: str) -> list[Path]:
    try:
        return sorted(path for path in place.iterdir() if path.name.endswith(suffix))
    except OSError:
        return []


def _kind(path: Path) -> str:
    """Raises Unusable for a name that is no kind's, or another's."""
    kind = kind_of(path)
    other = registry.known(kind)
    if kind in TAKEN or (other is not None and (other.name in registry.BUILT_IN or other.name != kind)):
        raise Unusable(f"{path}: the kind {kind} is rmctl's own")
    return kind
