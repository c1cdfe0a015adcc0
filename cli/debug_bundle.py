"""`doctor --bundle`: what helps somebody else to understand, without what is nobody else's business."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cli import paths
from cli.concealing import HIDDEN, Concealer
from cli.diagnoses import Finding
from cli.errors import BadEnvironment, CliError, UsageProblem
from cli.fetching import every, served_kinds
from cli.kinds import KINDS, KindName
from cli.models import models
from cli.session import Session
from controllers.definitions.masking import mask
from resources.version import VERSION

VALUES = frozenset({"env", "parameters", "backupParameterOverrides", "annotations"})
ARGUMENTS = frozenset({"command", "exec"})
MAX_EVENTS = 1000


def write(
    session: Session, file: Path, facts: Mapping[str, Any] | None, sections: Mapping[str, Sequence[Finding]]
) -> None:
    """Raises BadEnvironment when the file cannot be written. What the server does not answer is left out, and told."""
    if file.exists():
        raise UsageProblem(f"{file}: exists")
    findings = {name: [one._asdict() for one in found] for name, found in sections.items()}
    parts: dict[str, Any] = {"doctor.json": {"rmctl": VERSION, "facts": facts, **findings}}
    secrets: set[str] = set()
    if facts is not None:
        parts |= dict(_asked(session, secrets))
    hide = mask(secrets)
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as raw, tarfile.open(fileobj=raw, mode="w:gz") as archive:
            for name, content in parts.items():
                _add(archive, name, hide(_text(content)))
    except OSError as error:
        raise BadEnvironment(f"{file}: {(error.strerror or str(error)).lower()}") from None


def _asked(session: Session, secrets: set[str]) -> Iterator[tuple[str, Any]]:
    """The parts by name; the texts of secrets in resources are added to `secrets`."""
    client = session.client
    questions: dict[str, Callable[[], Any]] = {
        "server.json": lambda: client.get(paths.SERVER),
        "resources.json": lambda: [one for kind in served_kinds(session) for one in _shown(session, kind, secrets)],
        "effects.json": lambda: client.get(paths.EFFECTS),
        "queue.json": lambda: client.get(paths.QUEUE),
        "events.json": lambda: client.get(paths.EVENTS, {"limit": str(MAX_EVENTS)}),
        "audit.json": lambda: client.get(paths.AUDIT),
        "metrics.txt": lambda: client.text(paths.METRICS),
    }
    for name, question in questions.items():
        try:
            found = question()
        except CliError as error:
            found = {"error": error.message}
        yield name, found if isinstance(found, str) else redacted(found)


def _shown(session: Session, kind: KindName, secrets: set[str]) -> list[Any]:
    """All of a kind; of one that a file defines, less what its models call a secret, or what is named like one."""
    items = every(session, kind).items
    if kind in KINDS or not items:
        return items
    try:
        found = models(session, kind.name)[1]
    except CliError:  # its file is gone, or does not answer
        found = None
    concealer = Concealer(kind.name, found)
    shown = [concealer.shown(item) for item in items]
    secrets |= concealer.taken
    return shown


def redacted(value: Any) -> Any:
    """Names stay; values of environments, parameters and annotations, and arguments of commands go."""
    if isinstance(value, list):
        return [redacted(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: _hidden(key, inner) for key, inner in value.items()}


def _hidden(key: str, value: Any) -> Any:
    if key in VALUES and isinstance(value, dict):
        return dict.fromkeys(value, HIDDEN)
    if key in ARGUMENTS and isinstance(value, list):
        return [*value[:1], *([HIDDEN] * len(value[1:]))]
    return redacted(value)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, indent=2, ensure_ascii=False)


def _add(archive: tarfile.TarFile, name: str, text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    entry = tarfile.TarInfo(f"rmctl-debug/{name}")
    entry.size = len(data)
    entry.mode = 0o600
    archive.addfile(entry, io.BytesIO(data))
