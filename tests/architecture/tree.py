"""The files of this checkout, as the architecture tests read them."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("resources", "placement", "store", "controllers", "api", "agent", "cli", "rmctl")
CORE = ("resources", "placement", "store", "controllers")
GENERATED = "_pb2"
NOT_OURS = {".git", ".venv", ".demo", ".docs", ".hypothesis", "__pycache__", "build", "dist"}


def files(folder: Path = ROOT) -> Iterator[Path]:
    """Every file but those that tools leave behind."""
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if path.name not in NOT_OURS and not path.name.endswith(("_cache", ".egg-info")):
                yield from files(path)
        elif path.name != ".git" and path.suffix != ".pyc":
            yield path


def modules(*folders: str) -> list[Path]:
    """Python files below these folders, without generated ones."""
    found = [path for folder in folders for path in files(ROOT / folder) if path.suffix == ".py"]
    return [path for path in found if GENERATED not in path.name]


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def contract(name: str) -> dict[str, Any]:
    """The import contract of that name."""
    contracts: list[dict[str, Any]] = project()["tool"]["importlinter"]["contracts"]
    return next(entry for entry in contracts if entry["name"] == name)
