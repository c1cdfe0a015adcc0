"""What a large bundle stands for is worked out once, and anew for whatever it depends on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controllers.bundles.remembered import LARGE, MOST, Remembered
from controllers.expansion import expand
from resources.bundle import Bundle, BundleSpec, BundleStatus
from resources.reference import Ref
from resources.template import TemplateSpec
from resources.validation import Invalid
from tests.builders import a_bundle, a_job_entry


def a_large_bundle(uid: str = "b", jobs: int = LARGE, **fields: object) -> Bundle:
    document = a_bundle(*[a_job_entry(f"j{number}", **fields) for number in range(jobs)])
    return Bundle(
        Ref("bundle", "ch", "default"), uid, 1, 1, BundleSpec.model_validate(document), BundleStatus(), document
    )


def test_the_same_bundle_is_worked_out_once() -> None:
    known, bundle = Remembered(), a_large_bundle()
    first = known.expanded(bundle, {})
    assert first == expand("ch", bundle.spec, {})
    assert known.expanded(replace(bundle, resource_version=2, status=BundleStatus(replica_count=1)), {}) is first


def test_another_spec_and_another_template_are_worked_out_anew() -> None:
    known = Remembered()
    known.expanded(a_large_bundle(), {})
    changed = a_large_bundle(command=["new"])
    assert known.expanded(changed, {})[0].spec.command == ("new",)
    templates = {"j0": TemplateSpec.model_validate({"workingDir": "in"})}
    assert known.expanded(changed, templates)[0].spec.working_dir == "in"
    assert known.expanded(changed, {})[0].spec.working_dir == "."


def test_a_spec_that_makes_no_jobs_says_so_each_time() -> None:
    known, bundle = Remembered(), a_large_bundle(template="none")
    for _ in range(2):
        with pytest.raises(Invalid):
            known.expanded(bundle, {})


def test_only_so_many_are_remembered() -> None:
    known = Remembered()
    first = known.expanded(a_large_bundle("0"), {})
    for number in range(1, MOST + 1):
        known.expanded(a_large_bundle(str(number)), {})
    again = known.expanded(a_large_bundle("0"), {})
    assert again == first
    assert again is not first
