"""Patches, and pruning of unknown fields."""

import pytest

from api.http.patches import JSON, MERGE, STRATEGIC, changes
from api.http.problems import Problem
from api.http.pruning import checked
from tests.builders import a_bundle, a_job_entry

DOCUMENT = {"spec": {"pool": "p", "jobs": [1, 2]}}


@pytest.mark.parametrize(
    ("media", "patch", "after"),
    [
        (MERGE, {"spec": {"pool": None, "jobs": [3]}}, {"spec": {"jobs": [3]}}),
        (STRATEGIC, {"spec": {"$setElementOrder/jobs": [], "jobs": [3]}}, {"spec": {"pool": "p", "jobs": [3]}}),
        (JSON, [{"op": "replace", "path": "/spec/jobs/0", "value": 9}], {"spec": {"pool": "p", "jobs": [9, 2]}}),
        (JSON, [{"op": "test", "path": "/spec/pool", "value": "p"}], DOCUMENT),
    ],
)
def test_a_patch_says_what_it_does(media, patch, after):
    assert changes(media, patch)(DOCUMENT) == after


@pytest.mark.parametrize(
    ("media", "patch", "code", "message"),
    [
        (MERGE, [], 400, "a merge patch is an object"),
        (JSON, {}, 400, "a JSON patch is a list of at most 1000 operations"),
        (JSON, [{"op": "spin", "path": "/a"}], 400, "not a JSON patch: Unknown operation 'spin'"),
        (JSON, [{"op": "test", "path": "/spec/pool", "value": "q"}], 422, "operation 0: the test failed"),
        (JSON, [{"op": "replace", "path": "", "value": 1}], 422, "the result is not an object"),
        (STRATEGIC, {"spec": {"jobs": [], "$patch": "replace"}}, 400, None),
    ],
)
def test_a_patch_that_cannot_be_applied_is_refused(media, patch, code, message):
    with pytest.raises(Problem) as refused:
        changes(media, patch)(DOCUMENT)
    assert (refused.value.code, message) == (code, message and refused.value.message)


def test_a_json_patch_cannot_grow_a_document_without_end():
    """Copying a list into itself doubles it each time."""
    patch = [{"op": "copy", "from": "/spec", "path": f"/spec/{n}"} for n in range(30)]
    with pytest.raises(Problem, match="the result is over 2097152 bytes"):
        changes(JSON, patch)(DOCUMENT)


def test_unknown_fields_are_refused_warned_of_or_left_out():
    spec = a_bundle(a_job_entry(colour="red"), replica=3)
    _, errors, _ = checked("bundle", spec, "Strict")
    assert sorted(error.message for error in errors) == [
        "unknown field spec.jobs[0].colour",
        "unknown field spec.replica",
    ]
    assert checked("bundle", spec, "Warn")[0] == a_bundle()
    assert checked("bundle", spec, "Ignore") == (a_bundle(), [], [])


def test_lenience_ends_at_unknown_fields():
    _, errors, warnings = checked("bundle", a_bundle(replica=3, priority="high"), "Warn")
    assert ([error.path for error in errors], warnings) == (["spec.priority"], ["unknown field spec.replica"])
