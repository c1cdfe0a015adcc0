"""The shape of an effect driver: a provider's way to observe and to apply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from controllers.runtime.controller import Reader
from resources.effect import Answer, EffectRecord, Observation

Safety = Literal["token", "condition", "observation"]
"""`token`: the provider takes `effect.id` and does one thing for it. `condition`: the request names the state that it
starts from. `observation`: what it made is found again by tag or key."""


class EffectDriver(Protocol):
    """`creates` names the effect kinds that bring something into the world.

    One of these that is found absent under deletion is not applied.
    """

    provider: str
    creates: frozenset[str]
    safe: Mapping[str, Safety]
    """Every effect kind it carries out, and what keeps a second try from being a second deed."""

    def observe(self, effect: EffectRecord, reader: Reader) -> Observation:
        """What can be known without touching anything."""
        ...

    def apply(self, effect: EffectRecord) -> Answer:
        """Make it happen, once per `effect.id`; may block up to the provider's deadline."""
        ...
