"""A real repository, as a forge would have it, with a clone of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "init.defaultBranch=main")
PAGE = "page.txt"


def git(folder: Path, *words: str) -> str:
    """What it prints. Raises CalledProcessError."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    ran = subprocess.run(
        ["git", "-C", str(folder), *IDENTITY, *words], env=kept, capture_output=True, text=True, check=True
    )
    return ran.stdout.strip()


class Site:
    """`origin` is what everybody fetches from; `clone` has none of its pull requests yet."""

    def __init__(self, folder: Path) -> None:
        self.origin, self.clone, self._desk = folder / "origin.git", folder / "site", folder / "desk"
        self._desk.mkdir(parents=True)
        git(folder, "init", "--quiet", "--bare", str(self.origin))
        git(self._desk, "init", "--quiet")
        git(self._desk, "commit", "--quiet", "--allow-empty", "-m", "begin")
        git(self._desk, "push", "--quiet", str(self.origin), "HEAD:refs/heads/main")
        git(folder, "clone", "--quiet", str(self.origin), str(self.clone))

    def push(self, number: int, text: str) -> str:
        """Moves the head of a pull request, to a commit whose page says this; the commit."""
        (self._desk / PAGE).write_text(text)
        git(self._desk, "add", PAGE)
        git(self._desk, "commit", "--quiet", "-m", text)
        git(self._desk, "push", "--quiet", "--force", str(self.origin), f"HEAD:refs/pull/{number}/head")
        return git(self._desk, "rev-parse", "HEAD")

    @property
    def worktrees(self) -> list[Path]:
        """Those that git knows of, the clone itself left out, be they there or not."""
        lines = git(self.clone, "worktree", "list", "--porcelain").splitlines()
        return [Path(one.removeprefix("worktree ")) for one in lines if one.startswith("worktree ")][1:]
