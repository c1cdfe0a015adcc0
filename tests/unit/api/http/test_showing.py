"""What a glance at a resource tells: the columns of a table, durations, log tails, openapi."""

import pytest

from api.http.durations import short
from api.http.logs import fresh
from api.http.openapi import document
from api.http.summary import Line, line
from api.http.tables import wanted
from resources.registry import KINDS


def a_document(kind, status=None, spec=None, *, ready=("True", "Running", ""), generation=1, seen=1):
    """In wire form, with a Ready condition."""
    condition = dict(zip(("status", "reason", "message"), ready, strict=True))
    conditions = [{"type": "Ready", "observedGeneration": seen, **condition}]
    return {
        "kind": kind,
        "metadata": {"name": "x", "generation": generation},
        "spec": spec or {},
        "status": {"conditions": conditions, **(status or {})},
    }


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            a_document(
                "pool",
                {"nodeCount": 3, "claimedCapacity": 4.0, "totalCapacity": 12, "waitingJobs": 1},
                ready=("True", "HasCapacity", ""),
            ),
            Line("True", "HasCapacity", "-", "3 nodes, 4 of 12 vcpu claimed, 1 job waits"),
        ),
        (
            a_document(
                "node",
                {"zone": "zone-a", "capacity": {"vcpu": {"reserved": 1.5, "cap": 4}}, "jobs": ["a", "b"]},
                {"tier": "local", "cordoned": True, "cordonReason": "disk"},
                ready=("True", "Connected", ""),
            ),
            Line("True", "Connected", "local, zone-a", "1.5 of 4 vcpu claimed, 2 jobs, cordoned (disk)"),
        ),
        (
            a_document(
                "bundle",
                {"jobs": {"total": 2, "running": 1, "waiting": 1}},
                {"pool": "local"},
                ready=("False", "NoFit", ""),
            ),
            Line("False", "NoFit", "local", "1 of 2 jobs run, 1 waits"),
        ),
        (
            a_document(
                "job",
                {
                    "node": "node-a",
                    "pid": 4231,
                    "ports": ["80/tcp"],
                    "attempt": 3,
                    "restarts": {"lastHour": 2, "ceiling": 6},
                },
            ),
            Line("True", "Running", "node-a", "pid 4231, 80/tcp, attempt 3, 2 of 6 restarts"),
        ),
        (
            a_document("job", ready=("False", "NoFit", "no node fits")),
            Line("False", "NoFit", "-", "no node fits"),
        ),
        (a_document("bundle", generation=2), Line("Unknown", "Running", "-", "-")),
    ],
)
def test_one_line_tells_what_matters(document, expected):
    assert line(document) == expected


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
