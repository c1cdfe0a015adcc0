"""What is on record, shown: every resource with its readiness, one with all there is about it, and no credential."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

import pytest

from tests.fleet import Fleet, a_fleet

HOSTILE = "\u001b[31mred\u0007 and \u009b1m loud"
BUNDLE = {
    "apiVersion": "rmctl/v1",
    "kind": "bundle",
    "metadata": {"name": "ch-1", "annotations": {"note": HOSTILE}},
    "spec": {
        "pool": "default",
        "jobs": [
            {
                "jobName": "web",
                "command": ["sh", "-c", "printf 'out \\033[31mred\\007\\n'; exec sleep 1000"],
                "requirements": {"requiredCapacity": 0.5, "onRuntimeFailure": "avoidSpare"},
            }
        ],
    },
}
JOB = "job/ch-1/primary/web"


class Site(NamedTuple):
    fleet: Fleet
    token: str

    def shown(self, *words: str) -> str:
        ran = self.fleet.rmctl(*words)
        assert ran.code == 0, ran.err
        return ran.out


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with a_fleet() as fleet:
        fleet.server()
        token = fleet.rmctl("node", "token", "unused").out.strip()
        fleet.agent("mybox", "--capacity", "4")
        ran = fleet.rmctl("apply", "-f", "-", "--wait", stdin=json.dumps(BUNDLE))
        assert ran.code == 0, ran.err
        yield Site(fleet, token)


@pytest.mark.req("T56")
def test_every_resource_is_listed_with_its_readiness(site: Site) -> None:
    rows = [line.split()[:3] for line in site.shown("get", "resources", "--no-headers").splitlines()]
    assert rows == [
        ["pool/default", "True", "HasCapacity"],
        ["node/mybox", "True", "Connected"],
        ["bundle/ch-1", "True", "AllRunning"],
        [JOB, "True", "Running"],
    ]


@pytest.mark.req("T56")
def test_one_resource_is_described_with_all_that_is_known_of_it(site: Site) -> None:
    """Conditions, effects and events of the job, its owner, and from the other side the bundle's child."""
    job = site.shown("describe", *JOB.split("/", 1))
    for word in ("Ready", "Running", "StartJob", "applied", "bundle/ch-1", "Events"):
        assert word in job, f"{word} is missing in:\n{job}"
    children = site.shown("describe", "bundle", "ch-1").partition("Children\n")[2].splitlines()
    assert children[0].split()[:3] == [JOB, "True", "Running"]
    told = json.loads(site.shown("describe", "bundle", "ch-1", "-o", "json"))
    assert ([event["type"] for event in told["events"]][-2:], told["children"]) == (
        ["AuditAppended", "ResourceCreated"],
        [JOB],
    )
    lived = [event["type"] for event in json.loads(site.shown("describe", JOB, "-o", "json"))["events"]]
    assert {"ResourceCreated", "EffectPending", "EffectApplied", "PlacementDecision"} <= set(lived)


@pytest.mark.req("T56")
def test_nothing_that_is_shown_steers_the_terminal(site: Site) -> None:
    shown = [
        site.shown(*words)
        for words in (
            ("get", "resources", "-o", "wide"),
            ("describe", "bundle/ch-1"),
            ("describe", JOB),
            ("why", JOB),
            ("events",),
            ("logs", JOB),
        )
    ]
    steering = {
        char for text in shown for char in text if (ord(char) < 32 and char not in "\n\t") or 127 <= ord(char) < 160
    }
    assert steering == set()


@pytest.mark.req("T56")
def test_json_is_complete_and_says_what_the_table_made_harmless(site: Site) -> None:
    found = json.loads(site.shown("get", "bundle/ch-1", "-o", "json"))
    assert found["metadata"]["annotations"]["note"] == HOSTILE
    assert (found["spec"]["jobs"][0]["command"], found["status"]["state"]) == (
        BUNDLE["spec"]["jobs"][0]["command"],  # type: ignore[index]
        "live",
    )
    assert {"uid", "generation", "resourceVersion", "creationTimestamp"} <= set(found["metadata"])


@pytest.mark.req("T57")
def test_tokens_and_credentials_are_stored_as_hashes_and_shown_nowhere(site: Site) -> None:
    """The token that was printed once, and the credential that the agent keeps in a file of its own."""
    folder = site.fleet.folder
    credential = (folder / "agents" / "mybox" / "credential").read_text().strip()
    with closing(sqlite3.connect(f"file:{folder / 'state.db'}?mode=ro", uri=True)) as file:
        dump = "\n".join(file.iterdump())
    told = [
        site.shown(*words)
        for words in (
            ("get", "resources", "-o", "json"),
            ("describe", "node/mybox", "-o", "json"),
            ("events", "-o", "json"),
            ("effects", "-o", "json"),
            ("metrics",),
        )
    ]
    logs = [path.read_text() for path in folder.glob("*.log")]
    assert [secret for secret in (site.token, credential) if any(secret in text for text in (dump, *told, *logs))] == []
    assert "join" in dump
