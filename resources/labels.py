"""Labels: what their keys and values may be."""

from __future__ import annotations

from resources.names import MAX_LABEL
from resources.selectors import KEY, VALUE

SYSTEM = "rmctl/"
"""Labels under it are the system's: people may repeat them, and nothing else."""


def pair_problem(key: str, value: str) -> str | None:
    """Why a label may not be so, or None."""
    if not KEY.fullmatch(key):
        return label_key_problem(key)
    if len(value) > MAX_LABEL:
        return f"at most {MAX_LABEL} characters"
    return None if VALUE.fullmatch(value) else f"must match {VALUE.pattern.replace('?:', '')}"


def label_key_problem(key: str) -> str:
    """What is wrong with a key that is none."""
    prefix, slash, name = key.rpartition("/")
    if slash and not name:
        return "expected PREFIX/NAME, the name is missing"
    if len(name) > MAX_LABEL:
        return f"the name: at most {MAX_LABEL} characters"
    if len(prefix) > 253:
        return "the prefix: at most 253 characters"
    return "expected [PREFIX/]NAME of letters, digits, - _ and ."
