"""Plans for people: the sentence, the trace, and the smallest changes that would help."""

from __future__ import annotations

from placement.awaiting import own_reservations
from placement.sentence import after_lost_races
from placement.suggest import Suggestion, would_fit
from placement.trace import Summary, Trace, drawn, sentence, summary, trace
from placement.tree import tree

__all__ = [
    "Suggestion",
    "Summary",
    "Trace",
    "after_lost_races",
    "drawn",
    "own_reservations",
    "sentence",
    "summary",
    "trace",
    "tree",
    "would_fit",
]
