"""What people read, as golden files: the fleet of the examples and a bad minute."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from freezegun import freeze_time

from tests.cli_objects import (
    NO_FIT,
    NOW,
    a_condition,
    a_crashing_job,
    a_node,
    a_running_job,
    ago,
    all_kinds,
    an_object,
    the_demo,
)
from tests.cli_runs import Rmctl
from tests.fake_api import Answer, FakeApi

Golden = Callable[[str, str], None]

EFFECT = {
    "kind": "StartJob",
    "state": "applied",
    "key": "start/1/1",
    "attempts": 1,
    "target": "node-a",
    "owner": {"kind": "job", "name": "hello.primary.web", "project": "default"},
    "createdAt": ago(36),
    "startedAt": ago(36),
    "completedAt": ago(35.959),
}
EVENTS = [
    {
        "type": "JobUpdated",
        "severity": "Warning",
        "message": "exit 1",
        "count": 6,
        "firstAt": ago(171),
        "lastAt": ago(24),
        "kind": "job",
        "name": "weather.primary.encode",
    },
    {
        "type": "PlacementDecision",
        "severity": "Normal",
        "message": "node-a of 3 nodes, tier local",
        "count": 1,
        "firstAt": ago(36),
        "lastAt": ago(36),
        "kind": "job",
        "name": "hello.primary.web",
    },
]
REASONS = {
    "sentence": f"job/ultra-hd/primary/encode waits for a place: {NO_FIT}",
    "sections": [
        {
            "title": "Nodes (every filter that refuses, the counted one first)",
            "rows": [
                ["node-a", "labels: rmctl/cap.nvenc; fits: 3 of 6 vcpu free"],
                ["node-bb", "fits: 2.5 of 6 vcpu free"],
            ],
        },
        {"title": "Would fit if", "rows": ["1. a node with 8 vcpu and nvenc joined"]},
    ],
    "next": ["rmctl node join node-d --capacity 8 --capability nvenc", "rmctl edit bundle/ultra-hd"],
}


@pytest.fixture(autouse=True)
def _now() -> Iterator[None]:
    with freeze_time(datetime.fromtimestamp(NOW, UTC)):
        yield


@pytest.fixture
def fleet(api: FakeApi) -> FakeApi:
    api.on("GET /apis/rmctl/v1", all_kinds())
    for plural, items in the_demo().items():
        api.lists(plural, *items)
    api.on("GET effects", Answer({"items": []}))
    api.on("GET events", Answer({"items": []}))
    return api


@pytest.mark.parametrize(
    "words",
    [
        "get resources",
        "get resources --problems",
        "get jobs -o wide",
        "get jobs --sort-by .status.pid --no-headers",
        "get pool,node -o name",
        "get job/hello/primary/web -o jsonpath={.status.pid}",
        "get node node-a -o yaml",
        "get node node-a node-b -o json",
        "describe pool local",
        "describe node node-a",
        "describe bundle channel",
        "describe job ultra-hd/primary/encode",
        "describe job standby/primary/report",
    ],
)
def test_the_fleet_of_the_examples(fleet: FakeApi, rmctl: Rmctl, golden: Golden, words: str) -> None:
    ran = rmctl(*words.split())
    assert (ran.code, ran.err) == (0, "")
    name = re.sub("[^a-z0-9]+", "-", words).strip("-")
    golden(f"cli/{name}.txt", f"$ rmctl {words}\n{ran.out}")


def test_a_job_that_runs(fleet: FakeApi, rmctl: Rmctl, golden: Golden) -> None:
    fleet.on("GET effects", Answer({"items": [EFFECT]}))
    fleet.on("GET events", Answer({"items": [EVENTS[1]]}))
    ran = rmctl("describe", "job/hello/primary/web")
    golden("cli/describe-a-job-that-runs.txt", ran.out + ran.err)


def test_a_job_that_keeps_crashing(fleet: FakeApi, rmctl: Rmctl, golden: Golden) -> None:
    fleet.lists("jobs", a_crashing_job())
    fleet.on("GET events", Answer({"items": [EVENTS[0]]}))
    table, described = rmctl("get", "jobs"), rmctl("describe", "job/weather/primary/encode")
    golden("cli/a-job-that-keeps-crashing.txt", f"{table.out}\n{described.out}{described.err}")


def test_why_a_job_waits(fleet: FakeApi, rmctl: Rmctl, golden: Golden) -> None:
    fleet.on("GET jobs/ultra-hd.primary.encode/why", Answer(REASONS))
    ran = rmctl("why", "job", "ultra-hd/primary/encode")
    golden("cli/why-a-job-waits.txt", ran.out + ran.err)


def test_why_and_describe_begin_with_one_sentence(fleet: FakeApi, rmctl: Rmctl) -> None:
    answer = {"sentence": "job/hello/primary/web: runs on node-a", "sections": [], "next": []}
    fleet.on("GET jobs/hello.primary.web/why", Answer(answer))
    first = {rmctl(verb, "job/hello/primary/web").out.partition("\n")[0] for verb in ("why", "describe")}
    assert first == {"job/hello/primary/web runs on node-a, ready for 34s."}


def test_records_and_events(fleet: FakeApi, rmctl: Rmctl, golden: Golden) -> None:
    entry = {"kind": "job", "name": "a.primary.b", "dueAt": ago(-5), "attempts": 2, "claimed": False}
    fleet.on("GET effects", Answer({"items": [EFFECT]}))
    fleet.on(
        "GET queue",
        Answer({"items": [entry, {**entry, "kind": "pool", "name": "p", "dueAt": ago(1), "claimed": True}]}),
    )
    fleet.on("GET events", Answer({"items": EVENTS}))
    ran = [
        rmctl(*words.split()).out for words in ("get effects", "get queue", "events", "events job hello/primary/web")
    ]
    golden("cli/records-and-events.txt", "\n".join(ran))
    assert fleet.sent("GET", "events")[-1].query["for"] == "job/hello.primary.web"


def test_a_bad_minute(api: FakeApi, rmctl: Rmctl, golden: Golden) -> None:
    """Silent, cordoned, behind, going, and a kind that this client does not know."""
    api.on("GET /apis/rmctl/v1", all_kinds({"name": "drains", "singularName": "drain", "namespaced": False}))
    blocks = [{"reason": "Cordoned", "by": "ana: kernel update"}]
    silent = ("Unknown", "Silent", "is silent; without a heartbeat for 60 s it is lost")
    going = {"deletionTimestamp": ago(3)}
    silent_job = ("Unknown", "NodeSilent", "was heard of last on node-b")
    for plural, items in {
        "pools": [an_object("pool", "spare", ("False", "NoNodes", "has no nodes: rmctl node join NAME --pool spare"))],
        "nodes": [a_node("node-a", 2, 1, noSchedule=blocks), a_node("node-b", 1, 1, ready=silent)],
        "bundles": [
            an_object("bundle", "news", ("True", "AllRunning", "1 of 1 job runs"), generation=2, observed=1),
            an_object("bundle", "old", ("False", "Deleting", "waits for 1 job"), metadata=going),
            an_object("bundle", "new", ("True", "AllRunning", "1 of 1 job runs"), metadata=going),
        ],
        "jobs": [a_running_job("old/primary/a", "node-a", 8)],
        "reservations": [],
        "templates": [an_object("template", "encode", ("True", "Valid", "is valid, 2 images"))],
        "schedules": [],
        "webhooks": [],
        "drains": [
            an_object("drain", "node-a", ("False", "Migrating", "0 of 1 moved"), age=55),
            an_object("drain", "node-c", ("True", "Done", "1 of 1 moved"), age=5500),
        ],
    }.items():
        api.lists(plural, *items)
    lost = a_running_job("news/primary/a", "node-b", 7)
    lost["status"]["conditions"] = [a_condition("Ready", *silent_job)]
    api.lists("jobs", lost)
    api.on("GET effects", Answer({"items": []}))
    api.on("GET events", Answer({"items": []}))
    lines = ["get resources", "get resources --all --no-headers", "describe node node-a", "describe bundle old"]
    golden("cli/a-bad-minute.txt", "\n".join(f"$ rmctl {line}\n{rmctl(*line.split()).out}" for line in lines))


def test_json_of_one_is_the_object_and_of_several_a_list(fleet: FakeApi, rmctl: Rmctl) -> None:
    one = json.loads(rmctl("get", "pool/local", "-o", "json").out)
    several = json.loads(rmctl("get", "pools", "-o", "json").out)
    assert (one["kind"], several["kind"], several["metadata"]) == ("pool", "List", {"resourceVersion": "7"})
    assert several["items"] == [one]


@pytest.mark.req("B37", "B40")
def test_what_a_job_or_a_person_wrote_is_printed_escaped(fleet: FakeApi, rmctl: Rmctl) -> None:
    wild = an_object("node", "node-a", ("False", "Lost", "is lost: \x1b[2J\x1b[31mX\u202e"), spec={"pool": "local"})
    fleet.lists("nodes", wild)
    fleet.on("GET jobs/hello.primary.web/log", Answer("fine\n\x1b[2J\x1b[31mX\tend\n"))
    fleet.on("GET events", Answer({"items": [{**EVENTS[0], "message": "a\nb\x1b[0m"}]}))
    printed = [
        rmctl(*words.split()).out
        for words in ("get nodes", "describe node node-a", "logs hello/primary/web", "events", "get nodes -o yaml")
    ]
    assert [text for text in printed if not text.replace("\n", "").replace("\t", "").isprintable()] == []
    assert "is lost: \\x1b[2J\\x1b[31mX\\u202e" in printed[0]
    assert printed[2] == "fine\n\\x1b[2J\\x1b[31mX\tend\n"
    message = json.loads(rmctl("get", "node/node-a", "-o", "json").out)["status"]["conditions"][0]["message"]
    assert message == "is lost: \x1b[2J\x1b[31mX\u202e"


@pytest.mark.req("B84", "S20")
def test_a_narrow_terminal_and_no_terminal_get_the_same_table(
    fleet: FakeApi, rmctl: Rmctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    narrow = rmctl("get", "jobs")
    monkeypatch.setenv("COLUMNS", "abc")
    assert rmctl("get", "jobs") == narrow
    assert "\x1b" not in narrow.out


def test_an_older_server_has_fewer_kinds(api: FakeApi, rmctl: Rmctl) -> None:
    pools = {"name": "pools", "singularName": "pool", "namespaced": False}
    api.on("GET /apis/rmctl/v1", Answer({"resources": [pools]}))
    api.lists("pools", *the_demo()["pools"])
    ran = rmctl("get", "resources", "-o", "name")
    assert (ran.code, ran.out) == (0, "pool/local\n")
