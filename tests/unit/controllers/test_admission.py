"""Static checks across documents."""

from dataclasses import dataclass, field

import pytest

from controllers.admission import check, expected
from resources.reference import Ref
from resources.registry import BY_NAME
from resources.validation import Invalid


@dataclass(frozen=True)
class Known:
    """Everything else there is, for these tests."""

    found_pools: dict = field(default_factory=lambda: {"local": {"tiers": [{"name": "own"}]}})
    templates: dict = field(default_factory=dict)
    secrets: frozenset = frozenset()
    stopped: tuple = ()
    named: tuple = ()

    def pool(self, name):
        return self.found_pools.get(name)

    def pools(self):
        return self.found_pools

    def template(self, project, name):
        return self.templates.get((project, name))

    def secret(self, project, name, key):
        return (project, name, key) in self.secrets

    def criteria(self):
        return self.named

    def fenced(self, pool):
        return self.stopped if pool == "local" else ()


NOTHING_ELSE = Known()


def spec_of(kind, document):
    """The parsed spec."""
    return BY_NAME[kind].spec.model_validate(document)


def problems(kind, document, known=NOTHING_ELSE):
    """What is refused, as (path, message)."""
    with pytest.raises(Invalid) as refused:
        check(Ref(kind, "x", "default"), spec_of(kind, document), known)
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
    check(Ref("bundle", "x", "default"), spec_of("bundle", {"pool": "local", "jobs": [an_entry()]}), NOTHING_ELSE)


@pytest.mark.req("F350", "F348")
def test_pools_must_exist():
    document = {"pool": "locl", "resiliencePolicy": {"pool": "x"}, "jobs": [an_entry()]}
    assert problems("bundle", document) == [
        ("spec.pool", 'no pool "locl" (did you mean local?)'),
        ("spec.resiliencePolicy.pool", 'no pool "x"'),
    ]


def test_secrets_must_exist():
    entry = an_entry(secretEnv={"A": {"secret": "api", "key": "token"}, "B": {"secret": "api", "key": "pin"}})
    known = Known(secrets=frozenset({("default", "api", "token")}))
    assert problems("bundle", {"pool": "local", "jobs": [entry]}, known) == [
        ("spec.jobs[0].secretEnv.B", "secret not found: api has no key pin"),
    ]


def test_what_neither_entry_nor_template_gives_is_required():
    entry = {"jobName": "encode", "requirements": {}}
    assert sorted(problems("bundle", {"pool": "local", "jobs": [entry]})) == [
        ("spec.jobs[0].command", 'required (no template "encode" gives one)'),
        ("spec.jobs[0].requirements.onRuntimeFailure", "required"),
        ("spec.jobs[0].requirements.requiredCapacity", "required"),
    ]


def test_a_template_named_like_the_job_completes_it():
    whole = {key: value for key, value in an_entry().items() if key != "jobName"}
    known = Known(templates={("default", "encode"): {**whole, "images": ["x"]}})
    bundle = spec_of("bundle", {"pool": "local", "jobs": [{"jobName": "encode"}]})
    check(Ref("bundle", "x", "default"), bundle, known)
    assert [made.key.people for made in expected(Ref("bundle", "x", "default"), bundle, known)] == ["x/primary/encode"]


def test_a_template_of_another_project_completes_nothing():
    whole = {key: value for key, value in an_entry().items() if key != "jobName"}
    known = Known(templates={("other", "encode"): whole})
    assert len(problems("bundle", {"pool": "local", "jobs": [{"jobName": "encode"}]}, known)) == 3


def test_a_template_named_explicitly_must_exist():
    entry = an_entry(template="video")
    assert problems("bundle", {"pool": "local", "jobs": [entry]}) == [("spec.jobs[0].template", 'no template "video"')]


def test_a_node_names_a_pool_and_one_of_its_tiers():
    assert problems("node", {"pool": "nowhere"}) == [("spec.pool", 'no pool "nowhere"')]
    assert problems("node", {"pool": "local", "tier": "cloud"}) == [("spec.tier", 'pool "local" has no tier "cloud"')]
    check(Ref("node", "x"), spec_of("node", {"pool": "local", "tier": "own"}), NOTHING_ELSE)


def test_stop_needs_a_pool_with_the_time_to_end_a_job_before_its_node_is_lost():
    hasty = Known(found_pools={"local": {"disconnect": {"silentSeconds": 4, "lostSeconds": 20.5}}})
    assert problems("bundle", {"pool": "local", "jobs": [an_entry(onDisconnect="stop")]}, hasty) == [
        (
            "spec.jobs[0].onDisconnect",
            "stop ends a job 20 s before its node counts as lost, and in pool local that is after 20.5 s",
        )
    ]
    for rule, known in (("hold", hasty), ("replace", hasty), ("stop", NOTHING_ELSE)):
        bundle = spec_of("bundle", {"pool": "local", "jobs": [an_entry(onDisconnect=rule)]})
        check(Ref("bundle", "x", "default"), bundle, known)


def test_a_pool_keeps_the_time_that_its_jobs_with_stop_need():
    hasty = {
        "tiers": [{"name": "own", "kind": "local-servers", "scaleOut": "fixed"}],
        "disconnect": {"silentSeconds": 4, "lostSeconds": 8},
    }
    with pytest.raises(Invalid) as refused:
        check(Ref("pool", "local"), spec_of("pool", hasty), Known(stopped=("x/primary/encode",)))
    assert [(error.path, error.message) for error in refused.value.errors] == [
        (
            "spec.disconnect.lostSeconds",
            "must be at least 21: onDisconnect of x/primary/encode is stop, which ends it 20 s before",
        )
    ]
    check(Ref("pool", "local"), spec_of("pool", hasty), NOTHING_ELSE)
    patient = {**hasty, "disconnect": {"silentSeconds": 4, "lostSeconds": 21}}
    check(Ref("pool", "local"), spec_of("pool", patient), Known(stopped=("x/primary/encode",)))


def test_a_ranking_names_what_this_server_can_measure():
    ranked = {"tiers": [{"name": "own", "kind": "local-servers", "scaleOut": "fixed"}]}
    ranked["ranking"] = {"levels": [["booted"], {"heat": 2}]}
    refused = problems("pool", ranked, Known(named=("booted", "packing")))
    assert refused == [("spec.ranking.levels[1]", '"heat" is not one of booted, packing')]
    check(Ref("pool", "x"), spec_of("pool", ranked), Known(named=("booted", "heat")))
    check(Ref("pool", "x"), spec_of("pool", ranked), NOTHING_ELSE)


def test_a_group_asks_for_no_more_kinds_of_devices_than_one_node_is_asked_for():
    def entry(name, asks, other):
        needs = {"requiredCapacity": 1, "onRuntimeFailure": "drop"}
        needs["devices"] = [{"class": "gpu", "units": 1}] * asks
        return an_entry(jobName=name, requirements=needs, coLocateWith=[other])

    group = {"pool": "local", "jobs": [entry("a", 5, "b"), entry("b", 4, "a")]}
    told = "9 kinds of devices are asked for together on one node, at most 8"
    assert problems("bundle", group) == [("spec.jobs[0].coLocateWith", told)]
    group["jobs"][0] = entry("a", 4, "b")
    check(Ref("bundle", "x", "default"), spec_of("bundle", group), NOTHING_ELSE)
