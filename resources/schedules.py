"""Times that come round: five fields of cron that mean some instant, and the zone in which they are read."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator

from resources.frozen import Text

ANY_DAY = datetime(2000, 1, 1)  # noqa: DTZ001 - whether it ever comes is the same everywhere


def _comes_round(text: str) -> str:
    wrong = f'"{text}" is no schedule that ever comes: five fields of cron'
    if len(text.split()) != 5:  # a sixth would be seconds
        raise ValueError(wrong)
    try:
        next(CronSim(text, ANY_DAY))
    except (CronSimError, StopIteration):
        raise ValueError(wrong) from None
    return text


def _known(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f'"{name}" is no time zone, such as Europe/Madrid') from None
    return name


Cron = Annotated[Text, AfterValidator(_comes_round)]
TimeZone = Annotated[Text, AfterValidator(_known)]


def next_time(cron: str, zone: str, after: float) -> float:
    """The first instant behind `after`, in unix seconds, as the clocks of the zone have it."""
    return float(next(CronSim(cron, datetime.fromtimestamp(after, ZoneInfo(zone)))).timestamp())
