"""Template: checked when it was taken; the write itself wakes the bundles that read it."""

from __future__ import annotations

from typing import ClassVar

from controllers.runtime.controller import Reader
from controllers.runtime.decision import Decision, Facts
from resources.conditions import condition
from resources.template import Template, TemplateStatus


class TemplateController:
    kind: ClassVar[str] = "template"
    places: ClassVar[bool] = False

    def observe(self, resource: Template, reader: Reader) -> None:  # noqa: ARG002  all that counts is in the template
        return None

    def decide(self, resource: Template, view: None, facts: Facts) -> Decision:  # noqa: ARG002  nothing here depends on time
        images = resource.spec.images
        listed = "no images" if not images else f"{len(images)} image" + "s" * (len(images) > 1)
        status = TemplateStatus(
            observed_generation=resource.generation,
            conditions=(condition("Ready", True, "Valid", f"is valid, {listed}"),),
            images=images,
        )
        return Decision(status)
