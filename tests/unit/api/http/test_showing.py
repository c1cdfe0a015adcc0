"""What a glance at a resource tells: the columns of a table, durations, log tails, openapi."""

import pytest

from api.http.durations import age, short, span
from api.http.logs import fresh
from api.http.openapi import document
from api.http.summary import Line, fixed_tiers, line, sentence
from api.http.tables import wanted
from cli import durations
from cli.listing import HEADER, row
from cli.views.registry import line_one
from cli.views.wire import World
from resources.registry import KINDS
from tests.cli_objects import (
    NOW,
    a_crashing_job,
    a_job,
    a_node,
    a_waiting_job,
    ago,
    an_object,
    the_demo,
)

SAMPLES = [
    *(one for kind in the_demo().values() for one in kind),
    a_crashing_job(),
    a_crashing_job(nextStartAt=ago(1), lastExit={"signal": 9}),
    a_waiting_job("x/primary/y"),
    a_job("x/primary/y", ("True", "Completed", "completed: exit 0"), lastExit={"code": 0}),
    a_job("x/primary/y", ("False", "Dormant", "is dormant"), phase="dormant"),
    a_job("x/primary/y", ("False", "Stopping", "")),
    a_node(
        "node-d",
        2,
        1,
        spec={"cordoned": True, "cordonReason": "disk"},
        noSchedule=[{"reason": "Cordoned", "by": "spec"}],
    ),
    a_node("node-e", 2, 1, spec={"tier": "spot", "pool": "other"}, noSchedule=[{"reason": "Draining", "by": "ana"}]),
    an_object("bundle", "behind", ("True", "AllRunning", "runs"), generation=2, observed=1),
    an_object("bundle", "going", ("False", "Deleting", "1 job left"), metadata={"deletionTimestamp": ago(3)}),
    an_object(
        "bundle",
        "kept",
        ("False", "Deleting", ""),
        metadata={"deletionTimestamp": ago(90), "finalizers": ["rmctl/jobs", "x"]},
    ),
    an_object(
        "bundle",
        "failing",
        ("False", "ReconcileFailed", "cannot be worked on, and is tried again: why"),
        metadata={"deletionTimestamp": ago(90), "finalizers": ["a/b"]},
    ),
    an_object("pool", "broken", ("False", "InvalidTier", "tier x: two")),
    an_object("template", "plain", ("True", "Valid")),
]


@pytest.mark.parametrize("document", SAMPLES, ids=lambda one: f"{one['kind']}-{one['metadata']['name']}")
def test_the_server_tells_it_in_the_words_of_rmctl(document):
    pools = the_demo()["pools"]
    world = World(NOW, pools)
    told = dict(zip(HEADER, row(document, world), strict=True))
    assert line(document, now=NOW, tiers=fixed_tiers(pools)) == Line(
        told["READY"], told["REASON"], told["WHERE"], told["DETAIL"]
    )
    assert sentence(document, now=NOW) == line_one(document, world)


def test_a_deletion_that_waits_says_what_for() -> None:
    failing = an_object(
        "bundle",
        "b",
        ("False", "NoDefinition", 'no definition of bundle in project "default"'),
        metadata={"deletionTimestamp": ago(90), "finalizers": ["a/b"]},
    )
    assert sentence(failing, now=NOW).endswith(': no definition of bundle in project "default"; a/b left')


@pytest.mark.parametrize("seconds", [0, 0.4, 9.9, 36, 60, 61, 364, 3600, 3661, 11520, 86400, 200000])
def test_spans_and_ages_are_those_of_rmctl(seconds):
    assert (age(seconds), span(seconds)) == (durations.age(seconds), durations.span(seconds))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (119, "119s"), (125, "2m5s"), (600, "10m"), (11520, "3h12m"), (36000, "10h"), (1036800, "12d")],
)
def test_durations_are_short(seconds, text):
    assert short(seconds) == text


@pytest.mark.parametrize(
    ("before", "now", "new"),
    [
        (b"", b"one", b"one"),
        (b"one", b"one two", b" two"),
        (b"one two", b"two three", b"two three"),
        (b"x" * 2000 + b"end", b"x" * 1500 + b"end" + b"more", b"more"),
    ],
)
def test_a_followed_tail_repeats_nothing_it_can_recognise(before, now, new):
    assert fresh(before, now) == new


def test_a_table_is_for_who_asks_before_plain_json():
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    assert wanted(f"{table},application/json")
    assert not wanted(f"application/json,{table}")
    assert not wanted("*/*")


def test_every_reference_of_the_openapi_document_resolves():
    schemas = document()["components"]["schemas"]
    found = set()

    def walk(value):
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                found.add(value["$ref"].removeprefix("#/components/schemas/"))
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(document())
    assert found <= schemas.keys()
    assert {f"rmctl.v1.{kind.name}" for kind in KINDS} <= schemas.keys()
