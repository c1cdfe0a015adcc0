"""Rules across the fields of a document: what is broken, with its place and a code that programs read."""

from __future__ import annotations

from typing import NamedTuple


class BrokenRule(NamedTuple):
    """`field` counts from the spec on: `tiers[1].name`. `code` is stable, the words are for people."""

    field: str
    words: str
    code: str = ""
