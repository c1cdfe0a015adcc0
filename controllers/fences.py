"""The fence of an instance: whether it ends by itself on a node that is cut off, as its start said."""

from __future__ import annotations

from resources.effect import EffectRecord


def fenced(start: EffectRecord | None) -> bool:
    """An instance keeps the rule of its start; of one whose start is forgotten nothing good is known."""
    return start is not None and start.request["spec"].get("onDisconnect") == "stop"


def over(rule: str, start: EffectRecord | None) -> bool:
    """Whether `rule`, the job's own of now, gives an instance up once its node is lost.

    `stop` promises that there are never two, and without a fence nothing has ended this one.
    """
    return rule == "replace" or (rule == "stop" and fenced(start))
