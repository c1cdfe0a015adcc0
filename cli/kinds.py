"""The kinds as a client needs them: names, where they live, in which order they are listed; no models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from cli.errors import UnknownKind

if TYPE_CHECKING:
    from cli.client import Client

EVERYTHING = ("resources", "resource", "all")


class KindName(NamedTuple):
    """As `resources.registry.Kind`, less what only a server needs."""

    name: str
    plural: str
    short: tuple[str, ...] = ()
    namespaced: bool = True
    order: int = 100


KINDS = (
    KindName("pool", "pools", ("po",), namespaced=False, order=10),
    KindName("node", "nodes", ("no",), namespaced=False, order=30),
    KindName("bundle", "bundles", ("bd",), order=50),
    KindName("job", "jobs", ("jb",), order=60),
    KindName("reservation", "reservations", ("rsv",), order=65),
    KindName("template", "templates", ("tpl",), order=70),
    KindName("schedule", "schedules", order=80),
    KindName("webhook", "webhooks", order=82),
)
POOL, NODE, BUNDLE, JOB, RESERVATION, TEMPLATE, *_ = KINDS


def known(word: str, kinds: Iterable[KindName] = KINDS) -> KindName | None:
    """The kind behind a singular, plural or short name, in any case."""
    lower = word.lower()
    return next((kind for kind in kinds if lower in (kind.name, kind.plural, *kind.short)), None)


def kind_named(word: str, client: Client) -> KindName:
    """As `known`; the server is asked for what is not built in. Raises UnknownKind."""
    found = known(word)
    if found is not None:
        return found
    served = discovered(client)
    found = known(word, served)
    if found is not None:
        return found
    from difflib import get_close_matches

    names = [name for kind in (*KINDS, *served) for name in (kind.name, kind.plural)]
    raise UnknownKind(word, next(iter(get_close_matches(word.lower(), names, n=1)), ""))


def discovered(client: Client) -> list[KindName]:
    """Every kind that the server serves."""
    listed = client.get("/apis/rmctl/v1").get("resources", [])
    return [
        KindName(
            name=str(entry.get("singularName") or entry.get("kind") or entry["name"]),
            plural=str(entry["name"]),
            short=tuple(map(str, entry.get("shortNames", ()))),
            namespaced=bool(entry.get("namespaced", True)),
        )
        for entry in listed
        if "/" not in str(entry.get("name", "/"))
    ]
