"""Plugins of the placer: found by entry point and by file, and held against what they must be."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import metadata, util
from pathlib import Path

from cli.settings import Placement
from controllers.scheduling import Scheduling
from placement.containment import shown
from placement.plugins import Plugin
from placement.ranking import CRITERION_NAMES
from resources.validation import FieldError, Invalid

GROUP = "rmctl.placement"
FIELD = "settings.placement.plugins"


def load(files: Sequence[str]) -> tuple[Plugin, ...]:
    """Installed ones by name, then those of files in their order. Raises Invalid naming the file."""
    found = [*_installed(), *(plugin for at, name in enumerate(files) for plugin in _of_file(at, name))]
    ids = [name for plugin in found for name in (plugin.id, *(scorer.id for scorer in plugin.scorers))]
    twice = next((name for name in ids if ids.count(name) > 1), None)
    if twice is not None:
        raise Invalid([FieldError(FIELD, f'"{twice}" is the id of two of them')])
    taken = next((scorer.id for plugin in found for scorer in plugin.scorers if scorer.id in CRITERION_NAMES), None)
    if taken is not None:
        raise Invalid([FieldError(FIELD, f'a scorer may not be called "{taken}": that one is built in')])
    odd = next(((plugin, one) for plugin in found for one in plugin.scorers if not _sound(one.weight)), None)
    if odd is not None:
        said = f'plugin "{odd[0].id}": the weight of its scorer "{odd[1].id}" must be a number from 0.001 to 1000000'
        raise Invalid([FieldError(FIELD, f"{said}, not {shown(odd[1].weight)}")])
    return tuple(found)


def scheduling(settings: Placement) -> Scheduling:
    """Raises Invalid for a plugin that cannot be loaded, and for a weight of what is not there."""
    plugins = load(settings.plugins)
    known = Scheduling(plugins).criteria
    strange = next((name for name in settings.weights if name not in known), None)
    if strange is not None:
        said = f'"{strange}" is not one of {", ".join(known)}'
        raise Invalid([FieldError("settings.placement.weights", said)])
    return Scheduling(
        plugins,
        settings.weights,
        settings.top_n,
        settings.max_attempts,
        settings.placer,
        settings.max_batch,
    )


def _sound(weight: object) -> bool:
    """Weights count in thousandths."""
    return not isinstance(weight, bool) and isinstance(weight, int | float) and 0.001 <= weight <= 1_000_000


def _installed() -> Iterator[Plugin]:
    for point in sorted(metadata.entry_points(group=GROUP), key=lambda point: point.name):
        loaded = point.load()
        if not isinstance(loaded, Plugin):
            raise Invalid([FieldError(FIELD, f"entry point {point.name} is no Plugin")])
        yield loaded


def _of_file(at: int, name: str) -> tuple[Plugin, ...]:
    """The Plugins that stand in the file under any name."""
    where, path = f"{FIELD}[{at}]", Path(name)
    spec = util.spec_from_file_location(f"rmctl_plugin_{at}_{path.stem}", path) if path.is_file() else None
    if spec is None or spec.loader is None:
        raise Invalid([FieldError(where, f'"{name}" is no Python file')])
    module = util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise Invalid([FieldError(where, f'"{name}": {type(error).__name__}: {error}')]) from error
    found = tuple(dict.fromkeys(value for value in vars(module).values() if isinstance(value, Plugin)))
    if not found:
        raise Invalid([FieldError(where, f'"{name}" defines no Plugin')])
    return found
