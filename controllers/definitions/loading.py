"""A definition file read once: what was hashed is what runs."""

from __future__ import annotations

import hashlib
import stat
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from controllers.definitions.sdk import Definition
from controllers.definitions.telling import words
from controllers.definitions.workflows import Workflow
from resources.names import KIND

SUFFIX = ".resource_manager.py"
WORKFLOW_SUFFIX = ".workflow.py"
Named = TypeVar("Named", Definition, Workflow)
MAX_SOURCE = 1024 * 1024


class Unusable(Exception):
    """The file is no definition; says why."""


def kind_of(path: Path, suffix: str = SUFFIX) -> str:
    """The kind, or the workflow, that a file's name promises. Raises Unusable."""
    name = path.name.removesuffix(suffix)
    if name == path.name or not KIND.fullmatch(name):
        raise Unusable(f"{path.name}: expected NAME{suffix}, where NAME matches {KIND.pattern}")
    return name


def source(path: Path) -> tuple[bytes, str]:
    """(the bytes, their SHA-256 in hex). Raises Unusable."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise Unusable(f"{path}: is no plain file")
        with path.open("rb") as file:
            text = file.read(MAX_SOURCE + 1)
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror or error}") from error
    if len(text) > MAX_SOURCE:
        raise Unusable(f"{path}: at most {MAX_SOURCE} bytes")
    return text, hashlib.sha256(text).hexdigest()


def load(path: Path, digest: str | None = None) -> Definition:
    """The one definition of a file, run as a module. Raises Unusable, and for another digest than the given."""
    return _exported(path, SUFFIX, Definition, digest)


def load_workflow(path: Path, digest: str | None = None) -> Workflow:
    """As `load`, of a workflow's file."""
    return _exported(path, WORKFLOW_SUFFIX, Workflow, digest)


def _exported(path: Path, suffix: str, type_: type[Named], digest: str | None) -> Named:
    name, what = kind_of(path, suffix), type_.__name__.lower()
    text, found = source(path)
    if digest is not None and found != digest:
        raise Unusable(f"{path}: changed since it was hashed")
    module = ModuleType(f"rmctl_definition_{name.replace('-', '_')}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, str(path), "exec", dont_inherit=True), module.__dict__)  # noqa: S102  a definition is code
    except SystemExit as error:
        raise Unusable(f"{path}: calls sys.exit({error.code}) when it is imported") from error
    except MemoryError as error:
        raise Unusable(f"{path}: out of memory") from error
    except Exception as error:
        raise Unusable(f"{path}: {_why(error, path)}") from error
    exported = {id(one): one for one in vars(module).values() if isinstance(one, type_)}
    if len(exported) != 1:
        raise Unusable(f"{path}: expected one {what}, found {len(exported) or 'none'}")
    (found_one,) = exported.values()
    if found_one.name != name:
        raise Unusable(f'{path}: defines "{found_one.name}", the file name says "{name}"')
    return found_one


def _why(error: Exception, path: Path) -> str:
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}" if error.lineno else error.msg
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename == str(path)]
    where = f"line {frames[-1].lineno}: " if frames else ""
    return f"{where}{words(error)}"
