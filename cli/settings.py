"""The server's settings: flags over `RM_*` variables over a TOML file, each checked by name."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from resources.frozen import Frozen, Int, Number, Text
from resources.validation import FieldError, Invalid, parse

PREFIX = "RM_SERVER_"


class Cadence(Frozen):
    """How often things are looked at, in seconds."""

    heartbeat_seconds: Annotated[Number, Field(gt=0, le=300)] = 5
    keep_changes: Annotated[Int, Field(ge=1000)] = 50_000
    """Revisions kept for watches."""
    keep_days: Annotated[Number, Field(ge=1, le=3650)] = 30
    """How long effects that came to their end, and events that were followed by others, are kept."""


class Placement(Frozen):
    """How jobs and reservations find their places."""

    placer: Literal["inline", "pool-lease"] = "inline"
    """`pool-lease`: reservations of a pool are planned together, at most `max_batch` at a time."""
    max_batch: Annotated[Int, Field(ge=1, le=1000)] = 64

    plugins: tuple[Text, ...] = ()
    """Python files."""
    weights: dict[Text, Annotated[Number, Field(ge=0, le=1000)]] = Field(default_factory=dict)
    """By id of a criterion or of a plugin's scorer, in place of its own."""
    top_n: Annotated[Int, Field(ge=1, le=1000)] | None = None
    """Among how many of the best the ranking `weighted` draws."""
    max_attempts: Annotated[Int, Field(ge=1, le=100)] = 3
    """Lost races in a row before a key waits."""


class ServerSettings(Frozen):
    """`http` and `agents` are listeners beside the unix sockets in the data folder, as HOST:PORT."""

    data: Text
    http: tuple[Text, ...] = ()
    agents: tuple[Text, ...] = ()
    pass_workers: Annotated[Int, Field(ge=1, le=256)] = 8
    effect_workers: Annotated[Int, Field(ge=1, le=256)] = 8
    effects: Literal["apply", "record"] = "apply"
    """`record`: what would be done is put on record, and nothing is called."""
    cadence: Cadence = Cadence()
    placement: Placement = Placement()

    @property
    def folder(self) -> Path:
        return Path(self.data)


def read(
    flags: Mapping[str, Any], *, config: Path | None = None, environment: Mapping[str, str] | None = None
) -> ServerSettings:
    """The settings of a server. Raises Invalid with every problem, each named by its key."""
    variables = os.environ if environment is None else environment
    merged: dict[str, Any] = {}
    if config is not None:
        try:
            merged.update(tomllib.loads(config.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise Invalid([FieldError(str(config), str(error))]) from error
    merged.update(_variables(variables))
    merged.update({key: value for key, value in flags.items() if value not in (None, ())})
    return parse(ServerSettings, merged, path="settings")


def _variables(variables: Mapping[str, str]) -> dict[str, Any]:
    """`RM_SERVER_PASSWORKERS=4` sets passWorkers; numbers are read as numbers."""
    known = {(field.alias or name).upper(): field.alias or name for name, field in ServerSettings.model_fields.items()}
    found: dict[str, Any] = {}
    for name, text in variables.items():
        key = known.get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
        if key in ("http", "agents"):
            found[key] = text.split(",")
        elif key is not None:
            found[key] = int(text) if text.isdecimal() else text
    return found
