"""A definition file read once: what was hashed is what runs."""

from __future__ import annotations

import hashlib
import sys
import traceback
from pathlib import Path
from types import ModuleType

from controllers.definitions.sdk import Definition
from resources.names import KIND

SUFFIX = ".resource_manager.py"
MAX_SOURCE = 1024 * 1024


class Unusable(Exception):
    """The file is no definition; says why."""


def kind_of(path: Path) -> str:
    """The kind that a file's name promises. Raises Unusable."""
    name = path.name.removesuffix(SUFFIX)
    if name == path.name or not KIND.fullmatch(name):
        raise Unusable(f"{path.name}: expected NAME{SUFFIX}, where NAME matches {KIND.pattern}")
    return name


def source(path: Path) -> tuple[bytes, str]:
    """(the bytes, their SHA-256 in hex). Raises Unusable."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_SOURCE + 1)
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror or error}") from error
    if len(text) > MAX_SOURCE:
        raise Unusable(f"{path}: at most {MAX_SOURCE} bytes")
    return text, hashlib.sha256(text).hexdigest()


def load(path: Path, digest: str | None = None) -> Definition:
    """The one definition of a file, run as a module. Raises Unusable, and for another digest than the given."""
    name = kind_of(path)
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
    exported = {id(one): one for one in vars(module).values() if isinstance(one, Definition)}
    if len(exported) != 1:
        raise Unusable(f"{path}: expected one definition, found {len(exported) or 'none'}")
    (definition,) = exported.values()
    if definition.name != name:
        raise Unusable(f'{path}: defines "{definition.name}", the file name says "{name}"')
    return definition


def _why(error: Exception, path: Path) -> str:
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}"
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename == str(path)]
    where = f"line {frames[-1].lineno}: " if frames else ""
    return f"{where}{type(error).__name__}: {error}"
