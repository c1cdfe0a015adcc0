"""The shape of an effect driver: a provider's way to observe and to apply."""

from __future__ import annotations

from typing import Protocol

from controllers.runtime.controller import Reader
from resources.effect import Answer, EffectRecord, Observation


class EffectDriver(Protocol):
    """`creates` names the effect kinds that bring something into the world.

    One of these that is found absent under deletion is not applied.
    """

    provider: str
    creates: frozenset[str]

    def observe(self, effect: EffectRecord, reader: Reader) -> Observation:
        """What can be known without touching anything."""
        ...

    def apply(self, effect: EffectRecord) -> Answer:
        """Make it happen, once per `effect.id`; may block up to the provider's deadline."""
        ...
