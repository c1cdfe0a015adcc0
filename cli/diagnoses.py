"""The doctor's checks: what is looked at, and from which figure on it is a warning or a failure."""

from __future__ import annotations

import importlib.util
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cli.address import data_folder
from cli.contexts import contexts_file
from cli.durations import span
from cli.session import Session
from cli.views.wire import moment

MIB = 1024 * 1024
LOW_BYTES = 256 * MIB
LEAST_BYTES = 32 * MIB
STALE_SECONDS = 26 * 3600
LATE_SECONDS = 30.0
SKEW_SECONDS = 2.0
PINNED_FRAMES = 2000
ROOTS = ("resources", "placement", "store", "controllers", "api", "agent", "cli", "rmctl")
OLDEST_PYTHON = (3, 11)


class Finding(NamedTuple):
    """`state` is ok, warn or FAIL."""

    state: str
    what: str
    told: str


def database(facts: dict[str, Any]) -> Iterator[Finding]:
    """From what the server says of its store."""
    limit, size = int(facts.get("logLimitBytes") or 64 * MIB), int(facts.get("logBytes") or 0)
    state = "ok" if size <= limit else "warn"
    yield Finding(state, "log", f"{_mib(size)} of at most {_mib(limit)}")
    behind = int(facts.get("logFrames") or 0) - int(facts.get("logFramesDone") or 0)
    pinned = f"a reader keeps {behind} pages of the log from being taken over" if behind else "no reader pins the log"
    yield Finding("warn" if behind > PINNED_FRAMES else "ok", "readers", pinned)
    if rotten := list(facts.get("rotten") or ()):
        from store import offline_check

        yield Finding("FAIL", "resources", offline_check.told(rotten))
    yield _backup(facts)
    network = facts.get("networkFileSystem")
    told = f"{network}: SQLite's log needs a local file system" if network else str(facts.get("fileSystem") or "local")
    yield Finding("FAIL" if network else "ok", "file system", told)
    warning = facts.get("libraryWarning")
    yield Finding("warn" if warning else "ok", "library", str(warning or f"SQLite {facts.get('library')}"))
    yield _room(int(facts.get("freeBytes") or 0), int(facts.get("databaseBytes") or 0))
    yield from _waiting(facts)


def _backup(facts: dict[str, Any]) -> Finding:
    last = facts.get("lastBackup")
    if not isinstance(last, dict):
        return Finding("warn", "backup", "none is known: rmctl backup FILE makes one")
    at, now = moment(last.get("at")), moment(facts.get("now"))
    age = (now - at) if at is not None and now is not None else 0.0
    told = f"verified {span(age)} ago, revision {last.get('revision')}, {last.get('where')}"
    return Finding("warn" if age > STALE_SECONDS else "ok", "backup", told)


def _room(free: int, size: int) -> Finding:
    told = f"{_mib(free)} free, the database has {_mib(size)}"
    return Finding("FAIL" if free < LEAST_BYTES else "warn" if free < max(LOW_BYTES, 2 * size) else "ok", "disk", told)


def _waiting(facts: dict[str, Any]) -> Iterator[Finding]:
    late = float(facts.get("oldestDueSeconds") or 0)
    depth = facts.get("queueDepth")
    yield Finding("warn" if late > LATE_SECONDS else "ok", "queue", f"{depth} keys, the oldest due for {span(late)}")
    unsure = int(facts.get("effectsIndeterminate") or 0)
    if unsure:
        yield Finding("warn", "effects", f"{unsure} of unknown outcome: rmctl effects")
    if stuck := list(facts.get("runsStuck") or ()):
        yield Finding("FAIL", "child runs", f"{len(stuck)} under way without a worker: {stuck[0]}")
    hold = facts.get("held")
    if isinstance(hold, dict):
        why = f": {hold['reason']}" if hold.get("reason") else ""
        yield Finding("warn", "held", f"no effect is begun since {hold.get('since')}{why}; rmctl resume server")
    missing = list(facts.get("secretsMissing") or ())
    if missing:
        yield Finding("FAIL", "secrets", f"without a value: {', '.join(missing[:5])}; rmctl secret set gives it one")


def server_clock(facts: dict[str, Any], now: float) -> Finding:
    at = moment(facts.get("now"))
    if at is None:
        return Finding("warn", "clock", "the server does not tell its time")
    skew = abs(now - at)
    return Finding("warn" if skew > SKEW_SECONDS else "ok", "clock", f"{span(skew)} apart from this machine's")


def idle_folder(session: Session, data: Path | None, away: str) -> list[Finding]:
    """A folder without a server: whether one runs there after all, and whether its database is whole."""
    folder = (data or data_folder()).absolute()
    found = [Finding("FAIL", "server", away)] if away else []
    if data is None and session.address.scheme != "unix":
        return found
    if not (folder / "state.db").exists():
        return [*found, Finding("warn", "database", f"{folder} holds none")]
    from store import offline_check

    state, told = offline_check.check(folder)
    return [*found, Finding(state, "database", told)]


def machine(session: Session, facts: dict[str, Any] | None, data: Path | None) -> list[Finding]:
    folder = Path(str(facts["data"])) if facts is not None and facts.get("data") else (data or data_folder()).absolute()
    return [_python(), *_roots(), *_permissions(folder), *_contexts(session)]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("ok" if sys.version_info >= OLDEST_PYTHON else "FAIL", "python", f"{version}, {sys.executable}")


def _roots() -> Iterator[Finding]:
    """Packages with plain names: another one of the same name earlier on the path would be taken instead."""
    home = Path(__file__).resolve().parent.parent
    shadowed = []
    for root in ROOTS:
        spec = importlib.util.find_spec(root)
        origin = Path(spec.origin).resolve().parent.parent if spec is not None and spec.origin else None
        if origin != home:
            shadowed.append(f"{root} is {origin}")
    others = [
        f"{entry}/{root}"
        for entry in map(Path, sys.path)
        for root in ROOTS
        if str(entry) and entry.resolve() != home and (entry / root / "__init__.py").exists()
    ]
    if shadowed:
        yield Finding("FAIL", "imports", "; ".join(shadowed))
    elif others:
        yield Finding(
            "warn", "imports", f"{', '.join(others[:3])}: a package of the same name; install rmctl by itself"
        )
    else:
        yield Finding("ok", "imports", str(home))


def _permissions(folder: Path) -> Iterator[Finding]:
    for name, allowed in (
        ("", 0o700),
        ("rmctl.sock", 0o600),
        ("agents.sock", 0o600),
        ("state.db", 0o600),
        ("secrets", 0o700),
    ):
        path = folder / name if name else folder
        try:
            found = path.stat()
        except OSError:
            continue
        mode = stat.S_IMODE(found.st_mode)
        loose = mode & ~allowed
        what = name or "folder"
        if loose and name:
            yield Finding("FAIL", what, f"mode {mode:04o}: others may use it; chmod {allowed:o} {path}")
        elif loose & 0o022:
            yield Finding("FAIL", what, f"mode {mode:04o}: others may write into it; chmod {allowed:o} {path}")
        else:
            yield Finding("ok", what, f"mode {mode:04o}, owner {_owner(found.st_uid)}")


def _contexts(session: Session) -> Iterator[Finding]:
    path = contexts_file()
    if path.exists():
        loose = stat.S_IMODE(path.stat().st_mode) & 0o077
        told = f"{path}: others can read it; chmod 600 it" if loose else str(path)
        yield Finding("warn" if loose else "ok", "contexts", told)
    yield Finding("ok", "address", str(session.address))


def _owner(uid: int) -> str:
    return "you" if uid == os.getuid() else f"uid {uid}"


def _mib(size: int) -> str:
    return f"{size / MIB:.1f} MiB" if size < 1024 * MIB else f"{size / MIB / 1024:.1f} GiB"
