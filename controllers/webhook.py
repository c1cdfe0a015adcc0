"""Webhook: an address for others; deliveries are taken at the door, here is only said that it stands open."""

from __future__ import annotations

from typing import ClassVar

from controllers.runtime.controller import Reader
from controllers.runtime.decision import Decision, Facts
from resources.conditions import condition
from resources.webhook import Webhook


class WebhookController:
    kind: ClassVar[str] = "webhook"
    places: ClassVar[bool] = False

    def observe(self, resource: Webhook, reader: Reader) -> None:  # noqa: ARG002  all that counts is in the webhook
        return None

    def decide(self, resource: Webhook, view: None, facts: Facts) -> Decision:  # noqa: ARG002  nothing here depends on time
        words = f"receives at /webhooks/{resource.project}/{resource.name}"
        told = (condition("Ready", True, "Receiving", words),)
        return Decision(resource.status.model_copy(update={"conditions": told}))
