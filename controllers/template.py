"""Template: checked when it was taken; what remains is to wake the bundles that read it."""

from __future__ import annotations

from typing import ClassVar

from controllers.expansion import BUNDLE_LABEL, TEMPLATE_LABEL
from controllers.runtime.controller import Reader
from controllers.runtime.decision import Decision, Facts
from resources.conditions import condition
from resources.reference import Ref
from resources.template import Template, TemplateStatus

View = tuple[Ref, ...]
"""The bundles that have a job made from this template, or from its name before it existed."""


class TemplateController:
    kind: ClassVar[str] = "template"
    places: ClassVar[bool] = False

    def observe(self, resource: Template, reader: Reader) -> View:
        jobs = reader.by_label("job", TEMPLATE_LABEL, resource.name, resource.project)
        names = sorted({name for job in jobs if (name := job.labels.get(BUNDLE_LABEL))})
        return tuple(Ref("bundle", name, resource.project) for name in names)

    def decide(self, resource: Template, view: View, facts: Facts) -> Decision:  # noqa: ARG002  nothing here depends on time
        images = resource.spec.images
        listed = "no images" if not images else f"{len(images)} image" + "s" * (len(images) > 1)
        status = TemplateStatus(
            observed_generation=resource.generation,
            conditions=(condition("Ready", True, "Valid", f"is valid, {listed}"),),
            images=images,
        )
        news = resource.status.observed_generation != resource.generation
        return Decision(status, wake=view if news else ())
