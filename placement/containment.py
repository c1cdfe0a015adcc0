"""What a rule of a plugin answers, read so that nothing of the plugin's is left in it: exact, bounded, printable."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import isnan
from typing import NamedTuple, TypeVar

from placement.fullness import SCALE
from placement.steps import TooLong, limited

T = TypeVar("T")
MOST_TEXT = 300
"""Characters of a text that a plugin gives."""
ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+(?=>)")


class PluginFailed(Exception):
    """It raised, went on for too long, or answered nonsense; the text is for people."""


class Unanswered(PluginFailed):
    """It did not come back, and is left alone for a while."""


class Hosted:
    """A rule that is run, limited and judged elsewhere. What it raises beside PluginFailed ends the plan."""

    __slots__ = ("_ask",)

    def __init__(self, ask: Callable[..., object]) -> None:
        self._ask = ask

    def __call__(self, *arguments: object) -> object:
        return self._ask(*arguments)


class Nonsense(NamedTuple):
    """An answer that means nothing, and what it is."""

    text: str


def contained(read: Callable[[object], T | Nonsense], rule: Callable[..., object], *arguments: object) -> T:
    """What the rule answers, as `read` understands it; both run under the limit. Whatever the rule raises, an exit
    too, is its own. Raises PluginFailed.
    """
    answer = read(rule(*arguments)) if isinstance(rule, Hosted) else _limited(read, rule, *arguments)
    if isinstance(answer, Nonsense):
        raise PluginFailed(answer.text)
    return answer


def _limited(read: Callable[[object], T | Nonsense], rule: Callable[..., object], *arguments: object) -> T | Nonsense:
    try:
        return limited(lambda: read(rule(*arguments)))
    except TooLong:
        raise PluginFailed("did not come to an end") from None
    except BaseException as error:  # noqa: BLE001  whatever a plugin raises costs the node, not the plan
        raise PluginFailed(_told(error)) from None


def as_reason(answer: object) -> str | Nonsense | None:
    """A filter's: None keeps."""
    if answer is None or answer is True:
        return None
    if isinstance(answer, str) and str.__len__(answer):
        return readable(answer)
    return Nonsense(f"answered {shown(answer)}, neither None nor a reason")


def as_score(answer: object) -> int | Nonsense:
    """A score in whole numbers up to SCALE."""
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        return Nonsense(f"scored {shown(answer)}, which is no number")
    if isinstance(answer, int):
        return min(max(int.__int__(answer), 0), 1) * SCALE
    score = float.__float__(answer)
    return 0 if isnan(score) else int(min(max(score, 0.0), 1.0) * SCALE)


def as_picks(able: Sequence[str], count: int, answer: object) -> tuple[str, ...] | Nonsense:
    """So many different ones of these, in their order."""
    if isinstance(answer, list | tuple) and len(answer) == count:
        asked = set(answer)
        found = tuple(sorted(name for name in able if name in asked))
        if len(found) == count:
            return found
    return Nonsense("picked no valid set")


def readable(text: str) -> str:
    """On one line, without addresses, so that the same said of two nodes is the same, and the same again tomorrow."""
    cut = ADDRESS.sub("", str.__getitem__(text, slice(2 * MOST_TEXT)))
    plain = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in cut)
    return plain if len(plain) <= MOST_TEXT else f"{plain[: MOST_TEXT - 1]}…"


def shown(value: object) -> str:
    """A plain value as Python spells it, of everything else the type."""
    kind = type(value)
    if value is None or kind in (bool, float, str) or (isinstance(value, int) and kind is int and _short(value)):
        return readable(repr(value))
    return f"something of type {readable(kind.__name__)}"


def _short(number: int) -> bool:
    return number.bit_length() < 64


def _told(error: BaseException) -> str:
    try:
        return f"failed: {limited(_spelled, error)}"
    except BaseException:  # noqa: BLE001  its text is the plugin's too
        return "failed, and does not say of what"


def _spelled(error: BaseException) -> str:
    name, text = type(error).__name__, f"{error}"
    return readable(f"{name}: {text}" if text else name)
