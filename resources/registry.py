"""The kinds that exist: one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from resources.bundle import Bundle, BundleSpec, BundleStatus
from resources.defined import Defined, DefinedSpec, DefinedStatus
from resources.job import Job, JobSpec, JobStatus
from resources.kind import Kind, Propose
from resources.node import Node, NodeSpec, NodeStatus
from resources.pool import Pool, PoolSpec, PoolStatus
from resources.reservation import Reservation, ReservationSpec, ReservationStatus
from resources.schedule import Schedule, ScheduleSpec, ScheduleStatus
from resources.template import Template, TemplateSpec, TemplateStatus
from resources.webhook import Webhook, WebhookSpec, WebhookStatus

KINDS: tuple[Kind, ...] = (
    Kind("pool", "pools", Pool, PoolSpec, PoolStatus, ("po",), namespaced=False, order=10),
    Kind("node", "nodes", Node, NodeSpec, NodeStatus, ("no",), namespaced=False, order=30),
    Kind("bundle", "bundles", Bundle, BundleSpec, BundleStatus, ("bd",), order=50),
    Kind("job", "jobs", Job, JobSpec, JobStatus, ("jb",), order=60, applied=False),
    Kind("reservation", "reservations", Reservation, ReservationSpec, ReservationStatus, ("rsv",), order=65),
    Kind("template", "templates", Template, TemplateSpec, TemplateStatus, ("tpl",), order=70),
    Kind("schedule", "schedules", Schedule, ScheduleSpec, ScheduleStatus, order=80),
    Kind("webhook", "webhooks", Webhook, WebhookSpec, WebhookStatus, order=82),
)
BUILT_IN = frozenset(kind.name for kind in KINDS)
BY_NAME = {kind.name: kind for kind in KINDS}
BY_PLURAL = {kind.plural: kind for kind in KINDS}
DEFINED_ORDER = 90
SHORT = {"pull-request": ("pr",)}
"""Of kinds that come with rmctl as files."""
SEEKERS: list[Callable[[], None]] = []
"""What looks for definitions, in a server."""
PLACES: list[Callable[[], Iterable[Path]]] = []
"""The folders where it looks."""


def kind_named(word: str) -> Kind | None:
    """As `known`; a word nobody knows may be a new definition's."""
    found = known(word)
    if found is None:
        seek()
        found = known(word)
    return found


def known(word: str) -> Kind | None:
    """The kind behind a singular, plural or short name, in any case. Nothing is looked for, so a seeker may ask it."""
    lower = word.lower()
    return next((kind for kind in every() if lower in (kind.name, kind.plural, *kind.short)), None)


def kind_of_plural(plural: str) -> Kind | None:
    """As `kind_named`, of the word in a path."""
    if plural not in BY_PLURAL:
        seek()
    return BY_PLURAL.get(plural)


def seek() -> None:
    """Look for definitions that came since."""
    for look in SEEKERS:
        look()


def every() -> tuple[Kind, ...]:
    """The built-in kinds, then those of definitions as they became known."""
    return tuple(BY_NAME.values())


def of(name: str) -> Kind:
    """The kind of a stored row: what is not built in is of a definition, though its file be gone."""
    return BY_NAME.get(name) or define(name)


def define(name: str, propose: Propose | None = None) -> Kind:
    """Make a definition's kind known; from then on it is served beside the others."""
    known = BY_NAME.get(name)
    if known is not None and (propose is None or known.propose is propose or name in BUILT_IN):
        return known
    plural = plural_of(name)
    short = SHORT.get(name, ())
    made = Kind(name, plural, Defined, DefinedSpec, DefinedStatus, short, order=DEFINED_ORDER, propose=propose)
    BY_NAME[name] = BY_PLURAL[plural] = made
    return made


def plural_of(name: str) -> str:
    """As English does it, mostly."""
    if name.endswith(("s", "x", "z", "ch", "sh")):
        return name + "es"
    if name.endswith("y") and name[-2:-1] not in set("aeiou"):
        return name[:-1] + "ies"
    return name + "s"
