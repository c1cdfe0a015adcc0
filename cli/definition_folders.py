"""Where a server looks for definition files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from controllers.definitions import shipped
from controllers.definitions.discovery import Folders


def folders(projects: Mapping[str, str]) -> Folders:
    """The user's folder, and those of the projects; `default` is the working folder if there is an .rm in it."""
    found = {name: Path(path).expanduser().absolute() for name, path in projects.items()}
    here = Path.cwd()
    if "default" not in found and (here / ".rm").is_dir():
        found["default"] = here
    return Folders(user_folder(), found, Path(shipped.__file__).parent)


def user_folder() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(home) / "rmctl"
