"""Static checks across documents."""

from dataclasses import dataclass, field

import pytest

from controllers.admission import check
from resources.expansion import merged
from resources.validation import Invalid


@dataclass(frozen=True)
class Known:
    """Everything else there is, for these tests."""

    found_pools: dict = field(default_factory=lambda: {"local": {"tiers": [{"name": "own"}]}})
    templates: dict = field(default_factory=dict)

    def pool(self, name):
        return self.found_pools.get(name)

    def pools(self):
        return self.found_pools

    def template(self, project, name):
        return self.templates.get((project, name))


def problems(kind, document, known=Known()):
    """What is refused, as (path, message)."""
    with pytest.raises(Invalid) as refused:
        check(kind, "default", document, known)
    return [(error.path, error.message) for error in refused.value.errors]


def an_entry(**fields):
    """A job entry that lacks nothing."""
    return {
        "jobName": "encode",
        "command": ["true"],
        "requirements": {"requiredCapacity": 1, "onRuntimeFailure": "drop"},
        **fields,
    }


def test_a_whole_bundle_is_taken():
    check("bundle", "default", {"pool": "local", "jobs": [an_entry()]}, Known())


def test_pools_must_exist():
    document = {"pool": "locl", "resiliencePolicy": {"pool": "x"}, "jobs": [an_entry()]}
    assert problems("bundle", document) == [
        ("spec.pool", 'no pool "locl" (did you mean local?)'),
        ("spec.resiliencePolicy.pool", 'no pool "x"'),
    ]


def test_what_neither_entry_nor_template_gives_is_required():
    entry = {"jobName": "encode", "requirements": {}}
    assert problems("bundle", {"pool": "local", "jobs": [entry]}) == [
        ("spec.jobs[0].command", 'required (no template "encode" gives one)'),
        ("spec.jobs[0].requirements.requiredCapacity", "required"),
        ("spec.jobs[0].requirements.onRuntimeFailure", "required"),
    ]


def test_a_template_named_like_the_job_completes_it():
    known = Known(templates={("default", "encode"): an_entry() | {"images": ["x"]}})
    check("bundle", "default", {"pool": "local", "jobs": [{"jobName": "encode"}]}, known)


def test_a_template_of_another_project_completes_nothing():
    known = Known(templates={("other", "encode"): an_entry()})
    assert len(problems("bundle", {"pool": "local", "jobs": [{"jobName": "encode"}]}, known)) == 3


def test_a_template_named_explicitly_must_exist():
    entry = an_entry(template="video")
    assert problems("bundle", {"pool": "local", "jobs": [entry]}) == [
        ("spec.jobs[0].template", 'no template "video" in project default')
    ]


def test_a_chain_of_co_location_must_not_be_separated():
    jobs = [
        an_entry(jobName="a", separateFrom=["c"]),
        an_entry(jobName="b", coLocateWith=["a", "c"]),
        an_entry(jobName="c"),
    ]
    assert problems("bundle", {"pool": "local", "jobs": jobs}) == [
        ("spec.jobs[0].separateFrom", '"c" is co-located with it (a → b → c)')
    ]


def test_a_node_names_a_pool_and_one_of_its_tiers():
    assert problems("node", {"pool": "nowhere"}) == [("spec.pool", 'no pool "nowhere"')]
    assert problems("node", {"pool": "local", "tier": "cloud"}) == [("spec.tier", 'pool "local" has no tier "cloud"')]
    check("node", "default", {"pool": "local", "tier": "own"}, Known())


def test_an_entry_wins_over_its_template_key_by_key_in_env_and_requirements():
    template = {
        "command": ["a"],
        "env": {"A": "1", "B": "1"},
        "images": ["i"],
        "requirements": {"requiredCapacity": 1, "requiredCores": 1},
        "parameters": {"x": 1},
    }
    entry = {"jobName": "j", "env": {"B": "2"}, "requirements": {"requiredCapacity": 2}, "parameters": {"y": 2}}
    assert merged(entry, template) == {
        "jobName": "j",
        "command": ["a"],
        "env": {"A": "1", "B": "2"},
        "requirements": {"requiredCapacity": 2, "requiredCores": 1},
        "parameters": {"y": 2},
    }
