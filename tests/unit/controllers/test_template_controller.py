"""A template: valid as it was taken."""

from __future__ import annotations

from controllers.runtime.decision import Facts
from controllers.template import TemplateController
from resources.conditions import condition
from resources.reference import Ref
from resources.template import Template, TemplateSpec, TemplateStatus


def a_template(status: TemplateStatus | None = None, generation: int = 1) -> Template:
    spec = TemplateSpec.model_validate({"images": ["i:1", "i:2"]})
    return Template(Ref("template", "encode", "default"), "t", generation, 1, spec, status or TemplateStatus())


def test_a_template_is_valid_as_it_was_taken() -> None:
    decision = TemplateController().decide(a_template(), None, Facts(now=0))
    assert decision.wake == ()
    assert decision.status == TemplateStatus(
        observed_generation=1,
        images=("i:1", "i:2"),
        conditions=(condition("Ready", True, "Valid", "is valid, 2 images"),),
    )
