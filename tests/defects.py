"""Every defect listed in defects.toml must be found by the simulation: `python -m tests.defects [NAME]...`.

A defect is put into the product's source while it is imported, in a process of its own; no file changes.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_name("defects.toml")
BUDGET = 200
"""Seeds within which a defect must be found."""
AT_ONCE = 2


@dataclass(frozen=True)
class Edit:
    """The text `before` of a file becomes `after`."""

    file: str
    before: str
    after: str

    @property
    def module(self) -> str:
        return self.file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


@dataclass(frozen=True)
class Defect:
    """What is wrong, and the profile whose seeds show it from `seed` on."""

    name: str
    profile: str
    seed: int
    edits: tuple[Edit, ...]


def listed() -> list[Defect]:
    entries = tomllib.loads(LIST.read_text(encoding="utf-8"))["defect"]
    return [
        Defect(
            e["name"], e["profile"], e.get("seed", 1), tuple(Edit(i["file"], i["from"], i["to"]) for i in e["edits"])
        )
        for e in entries
    ]


def edited(source: str, edit: Edit) -> str:
    """The source with the defect in it. Raises ValueError unless the text to change stands there exactly once."""
    if source.count(edit.before) != 1:
        raise ValueError(f"{edit.file} holds the text to change {source.count(edit.before)} times, not once")
    return source.replace(edit.before, edit.after)


class Rewriting(importlib.machinery.SourceFileLoader):
    """Compiles the edited source, and never a cached one."""

    def __init__(self, name: str, path: str, edits: Sequence[Edit]) -> None:
        super().__init__(name, path)
        self._edits = edits

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text(encoding="utf-8")
        for edit in self._edits:
            source = edited(source, edit)
        return self.source_to_code(source.encode(), self.path)


class Finder(importlib.abc.MetaPathFinder):
    def __init__(self, defect: Defect) -> None:
        self._edits: dict[str, list[Edit]] = {}
        for edit in defect.edits:
            self._edits.setdefault(edit.module, []).append(edit)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        edits = self._edits.get(fullname)
        if edits is None:
            return None
        file = str(ROOT / edits[0].file)
        return importlib.util.spec_from_file_location(fullname, file, loader=Rewriting(fullname, file, edits))


def play(defect: Defect, budget: int) -> int:
    """In this process, and for good: 0 once a seed shows the defect, 1 when none does."""
    sys.meta_path.insert(0, Finder(defect))
    from tests.simulation.quiet import log_nothing
    from tests.simulation.world import World

    log_nothing()
    for seed in range(defect.seed, defect.seed + budget):
        try:
            World(seed, defect.profile).run()
        except Exception as error:
            print(f"{defect.profile} {seed}: {type(error).__name__}: {error}"[:200].splitlines()[0])
            return 0
    return 1


def verdict(defect: Defect, budget: int = BUDGET) -> tuple[bool, str]:
    """Whether a process of its own finds it, and what it said."""
    command = [sys.executable, "-B", "-m", "tests.defects", "--play", defect.name, str(budget)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    told = ran.stdout.strip() or f"not found in {budget} seeds of {defect.profile} from {defect.seed}"
    return ran.returncode == 0, told if ran.returncode < 2 and not ran.stderr else ran.stderr.strip()[-500:]


def main(names: list[str]) -> int:
    began = time.perf_counter()
    defects = [defect for defect in listed() if not names or defect.name in names]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = 0
        for defect, (caught, told) in zip(defects, pool.map(verdict, defects), strict=True):
            found += caught
            print(f"{'found' if caught else 'SURVIVED':8} {defect.name:28} {told}", flush=True)
    print(f"{found} of {len(defects)} found in {time.perf_counter() - began:.0f} s")
    return int(found < len(defects))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--play"]:
        sys.exit(play(next(d for d in listed() if d.name == sys.argv[2]), int(sys.argv[3])))
    sys.exit(main(sys.argv[1:]))
