"""The server's settings: flags over `RM_*` variables over a TOML file, each checked by name."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from resources.frozen import Frozen, Int, Number, Text
from resources.validation import FieldError, Invalid, parse

PREFIX = "RM_SERVER_"
CADENCE = "CADENCE"
KILL_AT = r"^((after-(placement|intent|apply|receipt)|before-apply|in-schema-migration)(:[1-9][0-9]{0,5})?)?$"


class Cadence(Frozen):
    """How often things are looked at, in seconds."""

    heartbeat_seconds: Annotated[Number, Field(gt=0, le=300)] = 5
    keep_changes: Annotated[Int, Field(ge=1000)] = 50_000
    """Revisions kept for watches."""
    keep_days: Annotated[Number, Field(ge=1, le=3650)] = 30
    """How long effects that came to their end, and events that were followed by others, are kept."""
    upkeep_seconds: Annotated[Number, Field(gt=0, le=86400)] = 60
    answer_seconds: Annotated[Number, Field(gt=0, le=600)] = 20
    """How long a node may take to answer a command before its outcome counts as unknown."""


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


class Definitions(Frozen):
    """Kinds that files define, and the processes that run them."""

    workers: Annotated[Int, Field(ge=1, le=64)] = 4
    """Passes at once."""
    memory_mi_b: Annotated[Int, Field(alias="memoryMiB", ge=0, le=1_048_576)] = 1024
    """Of address space for each runner; 0 is no limit."""
    load_seconds: Annotated[Number, Field(gt=0, le=600)] = 10
    """How long a file may take to be imported, or to judge a spec."""
    pass_environment: tuple[Text, ...] = ()
    """Variables of the server's environment that definitions see beside PATH, HOME and their like."""
    projects: dict[str, Text] = Field(default_factory=dict)
    """The folder of each project; that of `default` is where the server was started, if there is an .rm in it."""


def _installed(engine: Literal["store", "dbos"]) -> Literal["store", "dbos"]:
    if engine == "dbos" and find_spec("dbos") is None:
        raise ValueError("dbos is not installed here: pip install 'rmctl[workflows]'")
    return engine


class Workflows(Frozen):
    """Child runs of resources."""

    engine: Annotated[Literal["store", "dbos"], AfterValidator(_installed)] = "store"
    """What takes the runs that come; each goes on with those that it has begun."""
    workers: Annotated[Int, Field(ge=1, le=64)] = 2
    """Runs at once."""


class ServerSettings(Frozen):
    """`http` and `agents` are listeners beside the unix sockets in the data folder, as HOST:PORT."""

    data: Text
    http: tuple[Text, ...] = ()
    agents: tuple[Text, ...] = ()
    pass_workers: Annotated[Int, Field(ge=1, le=256)] = 8
    effect_workers: Annotated[Int, Field(ge=1, le=256)] = 8
    effects: Literal["apply", "record"] = "apply"
    """`record`: what would be done is put on record, and nothing is called."""
    log: Literal["auto", "json", "text"] = "auto"
    """`auto`: lines for people on a terminal, JSON elsewhere."""
    cadence: Cadence = Cadence()
    placement: Placement = Placement()
    definitions: Definitions = Definitions()
    workflows: Workflows = Workflows()
    kill_at: Annotated[Text, Field(pattern=KILL_AT)] = ""
    """Where the server kills itself, for tests."""

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
    given = _variables(variables)
    if isinstance(merged.get("cadence"), dict):
        given["cadence"] = {**merged["cadence"], **given.get("cadence", {})}
    merged.update(given)
    merged.update({key: value for key, value in flags.items() if value not in (None, ())})
    return parse(ServerSettings, merged, path="settings")


def _variables(variables: Mapping[str, str]) -> dict[str, Any]:
    """`RM_SERVER_PASSWORKERS=4` sets passWorkers, `RM_SERVER_CADENCE_HEARTBEATSECONDS=0.5` what stands in a table."""
    known, cadences = _names(ServerSettings), _names(Cadence)
    found: dict[str, Any] = {}
    for name, text in variables.items():
        if not name.startswith(PREFIX):
            continue
        word = name.removeprefix(PREFIX)
        key, cadence = known.get(word), cadences.get(word.removeprefix(f"{CADENCE}_"))
        if word.startswith(f"{CADENCE}_") and cadence is not None:
            found.setdefault("cadence", {})[cadence] = _number(text)
        elif key in ("http", "agents"):
            found[key] = text.split(",")
        elif key is not None and word != CADENCE:
            found[key] = _number(text)
    return found


def _names(model: type[Frozen]) -> dict[str, str]:
    return {(field.alias or name).upper(): field.alias or name for name, field in model.model_fields.items()}


def _number(text: str) -> int | float | str:
    """As it stands where it is no number."""
    if text.isdecimal():
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text
