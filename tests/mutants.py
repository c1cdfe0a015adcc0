"""Every defect listed in mutants.toml must be caught by the tests it names: `python -m tests.mutants [NAME]...`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_name("mutants.toml")
LEFT_BEHIND = shutil.ignore_patterns(".git", ".venv*", ".demo", ".docs", "*_cache", "__pycache__")
PASSED, FAILED = 0, 1


@dataclass(frozen=True)
class Mutant:
    """One edit of the product, the text `before` becoming `after`, and the tests that must notice."""

    name: str
    file: str
    before: str
    after: str
    suite: tuple[str, ...]


def listed() -> list[Mutant]:
    entries = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutant"]
    return [Mutant(e["name"], e["file"], e["from"], e["to"], tuple(e["suite"])) for e in entries]


def edited(source: str, mutant: Mutant) -> str:
    """The source with the defect in it. Raises ValueError unless the text to change stands there exactly once."""
    if source.count(mutant.before) != 1:
        raise ValueError(f"{mutant.name}: {mutant.file} holds its text {source.count(mutant.before)} times, not once")
    return source.replace(mutant.before, mutant.after)


def tested(tree: Path, suite: Iterable[str]) -> int:
    """Exit code of these tests, run against the copy of the tree."""
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *suite]
    every_case = {**os.environ, "RMCTL_WHOLE": "1"}
    return subprocess.run(command, cwd=tree, env=every_case, capture_output=True, check=False).returncode


def verdict(tree: Path, mutant: Mutant) -> str:
    path = tree / mutant.file
    source = path.read_text(encoding="utf-8")
    try:
        path.write_text(edited(source, mutant), encoding="utf-8")
        code = tested(tree, mutant.suite)
    finally:
        path.write_text(source, encoding="utf-8")
    return {PASSED: "survived", FAILED: "caught"}.get(code, f"pytest ended with {code}")


def main(names: list[str]) -> int:
    mutants = [mutant for mutant in listed() if not names or mutant.name in names]
    with tempfile.TemporaryDirectory(prefix="rmctl-mutants-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=LEFT_BEHIND)
        suites = sorted({path for mutant in mutants for path in mutant.suite})
        if mutants and tested(tree, suites) != PASSED:
            print("mutants: the tests fail before anything is changed", file=sys.stderr)
            return 1
        caught = 0
        for mutant in mutants:
            told = verdict(tree, mutant)
            caught += told == "caught"
            print(f"{told:10} {mutant.name}  {mutant.file}", flush=True)
    print(f"{caught} of {len(mutants)} caught")
    return int(caught < len(mutants))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
