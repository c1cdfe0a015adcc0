"""Plugins of the placer: found by entry point and by file, and held against what they must be."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import metadata, util
from pathlib import Path
from typing import NamedTuple

from placement.containment import MOST_TEXT, readable, shown
from placement.plugins import Plugin, Scorer
from placement.ranking import CRITERION_NAMES
from resources.validation import FieldError, Invalid

GROUP = "rmctl.placement"
FIELD = "settings.placement.plugins"


class Source(NamedTuple):
    """Where plugins come from: the setting that names it, and how it is told of."""

    field: str
    name: str
    load: Callable[[], Sequence[object]]

    def wrong(self, message: str) -> Invalid:
        return Invalid([FieldError(self.field, f"{self.name}{message}")])


def sources(files: Sequence[str]) -> tuple[Source, ...]:
    """Installed ones by name, then files in their order. Nothing of theirs is run yet."""
    points = sorted(metadata.entry_points(group=GROUP), key=lambda point: point.name)
    installed = [Source(FIELD, f"entry point {point.name}", partial(_installed, point)) for point in points]
    named = [Source(f"{FIELD}[{at}]", f'"{name}"', partial(_of_file, at, name)) for at, name in enumerate(files)]
    return (*installed, *named)


def load(found: Sequence[Source], beginning: Callable[[int], None] = lambda _number: None) -> tuple[Plugin, ...]:
    """The plugins of all; `beginning` hears which one comes next. Raises Invalid naming the file."""
    plugins: list[Plugin] = []
    for number, source in enumerate(found):
        beginning(number)
        plugins.extend(_loaded(source))
    ids = [name for plugin in plugins for name in (plugin.id, *(scorer.id for scorer in plugin.scorers))]
    twice = next((name for name in ids if ids.count(name) > 1), None)
    if twice is not None:
        raise Invalid([FieldError(FIELD, f'"{twice}" is the id of two of them')])
    taken = next((scorer.id for plugin in plugins for scorer in plugin.scorers if scorer.id in CRITERION_NAMES), None)
    if taken is not None:
        raise Invalid([FieldError(FIELD, f'a scorer may not be called "{taken}": that one is built in')])
    odd = next(((plugin, one) for plugin in plugins for one in plugin.scorers if not _sound(one.weight)), None)
    if odd is not None:
        said = f'plugin "{odd[0].id}": the weight of its scorer "{odd[1].id}" must be a number from 0.001 to 1000000'
        raise Invalid([FieldError(FIELD, f"{said}, not {shown(odd[1].weight)}")])
    return tuple(plugins)


def _loaded(source: Source) -> list[Plugin]:
    try:
        values = source.load()
    except Invalid:
        raise
    except BaseException as error:  # noqa: BLE001  an exit while it is loaded is the plugin's too
        raise source.wrong(f": {_spelled(error)}") from None
    if not values:
        raise source.wrong(" defines no Plugin")
    plugins = []
    for value in values:
        if not isinstance(value, Plugin):
            raise source.wrong(" is no Plugin")
        wrong = _misshapen(value)
        if wrong is not None:
            raise source.wrong(f": {wrong}")
        plugins.append(value)
    return plugins


def _installed(point: metadata.EntryPoint) -> tuple[object, ...]:
    return (point.load(),)


def _of_file(at: int, name: str) -> tuple[Plugin, ...]:
    """The Plugins that stand in the file under any name."""
    path = Path(name)
    spec = util.spec_from_file_location(f"rmctl_plugin_{at}_{path.stem}", path) if path.is_file() else None
    if spec is None or spec.loader is None:
        raise Invalid([FieldError(f"{FIELD}[{at}]", f'"{name}" is no Python file')])
    module = util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return tuple(dict.fromkeys(value for value in vars(module).values() if isinstance(value, Plugin)))


def _misshapen(plugin: Plugin) -> str | None:
    """What of it is not as `Plugin` says."""
    if not _name(plugin.id):
        return f"the id of a plugin must be a text on one line, not {shown(plugin.id)}"
    for what, rules in (("filters", plugin.filters), ("pickers", plugin.pickers)):
        if not _functions(rules):
            return f'the {what} of plugin "{plugin.id}" must be functions by name'
    if not _scorers(plugin.scorers):
        return f'the scorers of plugin "{plugin.id}" must be Scorers with an id and a function'
    if not _function_or_none(plugin.admit):
        return f'admit of plugin "{plugin.id}" must be a function'
    return None


def _functions(value: object) -> bool:
    return isinstance(value, Mapping) and all(_name(one) and callable(rule) for one, rule in value.items())


def _function_or_none(value: object) -> bool:
    return value is None or callable(value)


def _scorers(value: object) -> bool:
    return isinstance(value, tuple | list) and all(map(_scorer, value))


def _scorer(value: object) -> bool:
    return isinstance(value, Scorer) and _name(value.id) and callable(value.score)


def _name(value: object) -> bool:
    return type(value) is str and 0 < len(value) <= MOST_TEXT and value.isprintable()


def _sound(weight: object) -> bool:
    """Weights count in thousandths."""
    return not isinstance(weight, bool) and isinstance(weight, int | float) and 0.001 <= weight <= 1_000_000


def _spelled(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001  its text is the plugin's too
        text = ""
    name = type(error).__name__
    return readable(f"{name}: {text}" if text else name)
