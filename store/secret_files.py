"""The values of secrets: files below the data folder that only the server's user can read, and never the database."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
DIGEST_LETTERS = 12


class SecretFiles:
    """One file a secret, `PROJECT/NAME.json`; each write replaces it in one step."""

    def __init__(self, folder: Path, token: Callable[[], str]) -> None:
        """`token` makes the key of the digests: a fresh unguessable text."""
        self._folder = folder
        self._token = token
        self._lock = Lock()

    def value(self, project: str, name: str, key: str) -> str | None:
        """What is kept, or None."""
        return self._read(project, name).get(key)

    def keys(self, project: str, name: str) -> tuple[str, ...]:
        return tuple(sorted(self._read(project, name)))

    def put(self, project: str, name: str, key: str, value: str) -> str:
        """The value's keyed digest, which tells a change from none and nothing else."""
        with self._lock:
            self._write(project, name, {**self._read(project, name), key: value})
            return self.digest(value)

    def remove(self, project: str, name: str, key: str | None = None) -> None:
        """One key, or the whole secret."""
        with self._lock:
            known = self._read(project, name)
            left = {} if key is None else {other: text for other, text in known.items() if other != key}
            if left:
                self._write(project, name, left)
            else:
                self._path(project, name).unlink(missing_ok=True)

    def digest(self, value: str) -> str:
        return hmac.new(self._key(), value.encode(), hashlib.sha256).hexdigest()[:DIGEST_LETTERS]

    def _path(self, project: str, name: str) -> Path:
        return self._folder / project / f"{name}.json"

    def _read(self, project: str, name: str) -> dict[str, str]:
        try:
            found = json.loads(self._path(project, name).read_bytes())
        except FileNotFoundError:
            return {}
        return {str(key): str(value) for key, value in found.items()}

    def _write(self, project: str, name: str, values: dict[str, str]) -> None:
        folder = self._folder / project
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        self._folder.chmod(PRIVATE_FOLDER)
        _replace(self._path(project, name), json.dumps(values).encode())

    def _key(self) -> bytes:
        path = self._folder / "key"
        try:
            key = path.read_bytes()
        except FileNotFoundError:
            key = b""
        if not key:
            self._folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            key = self._token().encode()
            _replace(path, key)
        return key


def _replace(path: Path, data: bytes) -> None:
    """A reader sees the old file or the new one, whole, even after a power loss."""
    new = path.with_name(path.name + ".new")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
