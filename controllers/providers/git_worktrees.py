"""Git worktrees of a clone on this machine: seen, made at a commit, and removed."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from resources.effect import Absent, Applied, Rejected

GIT_SECONDS = 150.0
MAX_WORDS = 600
REMOTE = "origin"
SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.askPass": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
    # a definition's address space has a limit, and git would map a whole pack into it
    "core.packedGitWindowSize": "16m",
    "core.packedGitLimit": "128m",
    "pack.threads": "1",
}
QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "LC_ALL": "C",
}
USER_IN_ADDRESS = re.compile(r"(?<=://)[^/@\s]+@")


class Login(NamedTuple):
    """Whom `site`, such as `https://github.com`, knows; no other host is told of it."""

    site: str
    token: str


class Told(NamedTuple):
    code: int
    out: str
    words: str
    """What went wrong, on one line of bounded length."""


def beside(clone: str, name: str) -> str:
    """Where the worktree of this name lies: in a folder beside the clone that holds nothing else."""
    folder = Path(clone)
    return str(folder.with_name(f"{folder.name}.worktrees") / name)


def clone_problem(clone: str) -> str | None:
    """Why a path is no clone, or None. A folder inside of one is none."""
    if not _is_folder(clone):
        return "there is no such folder"
    found = _git(clone, "rev-parse", "--git-dir")
    return found.words if found.code else None


def observe(clone: str, path: str, sha: str) -> Applied | Absent:
    """Whether it is there, belongs to the clone, stands at this commit, and is whole and unchanged."""
    if not _is_folder(path):
        return Absent()
    where = ("rev-parse", "--path-format=absolute", "--git-common-dir")
    mine, its = _git(clone, *where), _git(path, *where)
    head = _git(path, "rev-parse", "--verify", "HEAD")
    changed = _git(path, "status", "--porcelain")
    right = (its.out, head.out) == (mine.out, sha) and not any(one.code for one in (mine, its, head, changed))
    return Applied(path) if right and not changed.out else Absent()


def make(clone: str, path: str, sha: str, *, ref: str, login: Login | None = None) -> Applied | Rejected:
    """At this commit, in place of whatever is at the path. Fetches the remote's `ref` where the commit is missing."""
    there = ("cat-file", "-e", f"{sha}^{{commit}}")
    if _git(clone, *there, login=login).code:
        options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
        fetched = _git(clone, "fetch", *options, REMOTE, ref, login=login)
        if fetched.code:
            return Rejected(f"git fetch {REMOTE} {ref}: {fetched.words}", "CannotFetch")
        if _git(clone, *there).code:
            return Rejected(f"{REMOTE} has no commit {sha} behind {ref}", "NoCommit")
    left = _clear(clone, path)
    if left:
        return Rejected(left, "InTheWay")
    added = _git(clone, "worktree", "add", "--force", "--detach", path, sha, login=login)
    return Rejected(f"git worktree add: {added.words}", "CannotAdd") if added.code else Applied(path)


def observe_removal(clone: str, path: str) -> Applied | Absent:
    """Applied: neither the folder is there any more, nor does the clone know of it."""
    there = os.path.lexists(path) or _known(clone, path)
    return Absent() if there else Applied(path)


def remove(clone: str, path: str) -> Applied | Rejected:
    """With all that was changed in it. Of a clone that is gone the folder remains, and goes too."""
    left = _clear(clone, path)
    if left:
        return Rejected(left, "CannotRemove")
    with suppress(OSError):
        Path(path).parent.rmdir()
    return Applied(path)


def _clear(clone: str, path: str) -> str:
    """Takes folder and entry away; says what cannot be. Others' entries stay, be their disks there or not."""
    removal = ("worktree", "remove", "--force", "--force", path)
    if _known(clone, path):
        _git(clone, *removal)
    if os.path.lexists(path):
        try:
            _delete(Path(path))
        except OSError as error:
            return f"{error.filename or path}: {error.strerror or error}"
    if not _known(clone, path):
        return ""
    told = _git(clone, *removal)
    return f"git worktree remove: {told.words}" if told.code else ""


def _known(clone: str, path: str) -> bool:
    """Whether the clone has an entry of the worktree; one that is none any more has not."""
    if not _is_folder(clone):
        return False
    real = os.path.realpath(path)
    listed = _git(clone, "worktree", "list", "--porcelain").out.split("\n")
    return any(one == f"worktree {found}" for found in (path, real) for one in listed)


def _is_folder(path: str) -> bool:
    """Not for whoever may not look."""
    try:
        return Path(path).is_dir()
    except OSError:
        return False


def _delete(path: Path) -> None:
    """Raises OSError."""
    if path.is_symlink() or not path.is_dir():
        path.unlink()
    else:
        shutil.rmtree(path)


def _git(folder: str, *words: str, login: Login | None = None) -> Told:
    """One call of git: no shell, no questions, no hooks, and a bounded time."""
    try:
        ran = subprocess.run(
            ["git", "-C", folder, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env=_environment(os.environ, folder, login),
            timeout=GIT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Told(-1, "", f"took longer than {GIT_SECONDS:g} s")
    except OSError as error:
        return Told(-1, "", f"git cannot be started: {error.strerror}")
    return Told(ran.returncode, ran.stdout.decode(errors="replace").rstrip("\n"), _words(ran.stderr, ran.returncode))


def _words(errors: bytes, code: int) -> str:
    """The end of what git said, where its reason stands."""
    text = " ".join(errors.decode(errors="replace").split())
    text = USER_IN_ADDRESS.sub("…@", text)
    return ("…" + text[-MAX_WORDS:] if len(text) > MAX_WORDS else text) or f"it ended with {code}"


def _environment(outer: Mapping[str, str], folder: str, login: Login | None) -> dict[str, str]:
    """Without what would lead git elsewhere; a token is in nobody's argument list and in no file."""
    settings = list(SETTINGS.items())
    if login is not None:
        secret = base64.b64encode(f"x-access-token:{login.token}".encode()).decode()
        header = f"http.{login.site}/.extraHeader"
        settings += [(header, ""), (header, f"Authorization: Basic {secret}")]  # the first empties what the clone has
    kept = {name: value for name, value in outer.items() if not name.startswith("GIT_")}
    told = {"GIT_CONFIG_COUNT": str(len(settings)), "GIT_CEILING_DIRECTORIES": str(Path(folder).resolve().parent)}
    for number, (name, value) in enumerate(settings):
        told |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return {**kept, **QUIET, **told}
