"""How this server places, from its settings: plugins and weights held against each other."""

from __future__ import annotations

from collections.abc import Sequence

from cli.settings import Placement
from controllers.scheduling import Scheduling
from placement.plugins import Plugin
from resources.validation import FieldError, Invalid


def scheduling(settings: Placement, plugins: Sequence[Plugin] = ()) -> Scheduling:
    """Raises Invalid for a weight of what is not there."""
    plugins = tuple(plugins)
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
