"""What a child answers, taken for no more than it may say: a reason, scores, ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from controllers.definitions.channel import Garbled
from placement.containment import readable
from placement.fullness import SCALE
from resources.canonical import Document


class Heard(NamedTuple):
    """Of one node: the rule that refuses it and why, or the scores of all scorers that were asked, up to SCALE."""

    refused: str | None
    why: str = ""
    scores: Mapping[str, int] = {}


def heard(said: Document) -> Heard:
    """Raises Garbled."""
    match said:
        case {"refused": str(name), "why": str(why)}:
            return Heard(name, readable(why))
        case {"scores": dict(scores)} if all(type(one) is int and 0 <= one <= SCALE for one in scores.values()):
            return Heard(None, scores=scores)
        case _:
            raise Garbled("what is no answer about a node")


def picks(said: Document) -> list[str] | None:
    """None where the picker picked nothing valid. Raises Garbled."""
    match said:
        case {"picks": list(ids)} if all(isinstance(one, str) for one in ids):
            return ids
        case {"picks": None}:
            return None
        case _:
            raise Garbled("what are no picks")


def admission(said: Document) -> str | None:
    """Raises Garbled."""
    match said:
        case {"said": None}:
            return None
        case {"said": str(why)}:
            return readable(why)
        case _:
            raise Garbled("what is no word on admission")
