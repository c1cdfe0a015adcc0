"""Webhook: an address that outside systems call when something may have happened, and what is woken then."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from resources.frozen import Frozen, Instant, Int, Text
from resources.job_entry import SecretKey
from resources.resource import Resource, Spec, Status
from resources.wakes import Wakes


class Header(Frozen):
    """A delivery counts only where this header has one of these values."""

    name: Annotated[Text, Field(min_length=1, max_length=128)]
    values: Annotated[tuple[Text, ...], Field(min_length=1, max_length=64)]


class WebhookSpec(Spec):
    """`standard` signs an id, an instant and the body; `github` signs the body alone."""

    secret: SecretKey
    signature: Literal["standard", "github"] = "standard"
    replay_seconds: Annotated[Int, Field(ge=1, le=3600)] = 300
    """How old a signed delivery may be, and how long its id is remembered."""
    only: Header | None = None
    wakes: Annotated[tuple[Wakes, ...], Field(min_length=1, max_length=16)]


class WebhookStatus(Status):
    """Deliveries so far, some seconds behind. Refused are those with a wrong signature or instant."""

    received: Int = 0
    refused: Int = 0
    last_at: Instant | None = None


class Webhook(Resource[WebhookSpec, WebhookStatus]):
    """A webhook as it was read."""
