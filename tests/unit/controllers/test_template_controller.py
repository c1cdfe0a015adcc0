"""A template: valid as it was taken; those who read it hear of a change."""

from __future__ import annotations

from controllers.runtime.decision import Facts
from controllers.template import TemplateController
from resources.conditions import condition
from resources.reference import Ref
from resources.template import Template, TemplateSpec, TemplateStatus

BUNDLE = Ref("bundle", "ch", "default")


def a_template(status: TemplateStatus | None = None, generation: int = 1) -> Template:
    spec = TemplateSpec.model_validate({"images": ["i:1", "i:2"]})
    return Template(Ref("template", "encode", "default"), "t", generation, 1, spec, status or TemplateStatus())


def test_a_new_generation_wakes_the_bundles_that_read_it_once() -> None:
    decision = TemplateController().decide(a_template(), (BUNDLE,), Facts(now=0))
    assert decision.wake == (BUNDLE,)
    assert decision.status == TemplateStatus(
        observed_generation=1,
        images=("i:1", "i:2"),
        conditions=(condition("Ready", True, "Valid", "is valid, 2 images"),),
    )
    assert isinstance(decision.status, TemplateStatus)
    again = TemplateController().decide(a_template(decision.status), (BUNDLE,), Facts(now=9))
    assert (again.status, again.wake) == (decision.status, ())
    assert TemplateController().decide(a_template(decision.status, 2), (BUNDLE,), Facts(now=9)).wake == (BUNDLE,)
