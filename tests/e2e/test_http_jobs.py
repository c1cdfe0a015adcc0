"""What may be written to jobs, which writes restart them, their logs, and why they are as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from controllers.admission import expected
from resources.bundle import Broken
from resources.conditions import condition
from resources.event import Event
from resources.facts import Instance, LogTail
from resources.job import JobStatus
from resources.reference import Ref
from store import applied, events, nodes, resources
from tests.builders import a_bundle, a_job_entry
from tests.http_serving import API, Served, a_document, serving

JOB = Ref("job", "ch-1.primary.web", "default")
JOBS = "namespaces/default/jobs"


@dataclass(frozen=True)
class Explained:
    """What a placer would say."""

    sentence: str
    nodes: tuple[tuple[str, str], ...]
    would_fit: tuple[str, ...]


def explain(_tx, _job):
    return Explained("no node fits (1 node): 1 × fits: 0 of 1 vcpu free", (("n", "fits: 0 of 1 vcpu free"),), ("more",))


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(explain=explain) as found:
        found.put_pool()
        found.apply(a_document())
        found.store.write(expand)
        yield found


def expand(tx):
    """The jobs of bundle ch-1, as its controller makes them."""
    bundle = resources.get(tx, Ref("bundle", "ch-1", "default"))

    class Nothing:
        def template(self, _project, _name):
            return None

    for made in expected(bundle.ref, bundle.spec, Nothing()):
        ref = Ref("job", made.key.wire, "default")
        resources.create(tx, ref, made.document, labels=made.labels, owner=bundle.uid)


def settle(served, **status):
    """The job's controller has come to this status."""

    def write(tx):
        job = resources.get(tx, JOB)
        resources.replace_status(tx, job, JobStatus(**status))

    served.store.write(write)


def test_verbs_write_two_fields_under_their_own_manager(served):
    answer = served.patch(f"{JOBS}/ch-1.primary.web", {"spec": {"active": False}}, fieldManager="somebody")
    assert (answer.status_code, answer.json()["spec"]["active"]) == (200, False)
    with served.store.read() as tx:
        assert applied.managers(tx, resources.get(tx, JOB).uid) == {"rmctl-verbs": {"spec": {"active": False}}}


@pytest.mark.parametrize(
    ("patch", "path"),
    [
        ({"spec": {"command": ["x"]}}, "spec.command"),
        ({"spec": {"active": False, "pool": "q"}}, "spec.pool"),
        ({"metadata": {"labels": {"a": "b"}}}, "metadata.labels.a"),
    ],
)
def test_nothing_else_of_a_job_can_be_written(served, patch, path):
    answer = served.patch(f"{JOBS}/ch-1.primary.web", patch)
    assert answer.status_code == 403
    writable = "only spec.active and spec.restartedAt can be written"
    assert answer.json()["message"] == f'job "ch-1/primary/web": belongs to bundle/ch-1: {writable}, not {path}'


def test_a_job_is_not_deleted_by_people(served):
    answer = served.client.delete(f"{API}/{JOBS}/ch-1.primary.web")
    assert (answer.status_code, answer.json()["details"]["hint"]) == (
        403,
        "rmctl stop ch-1/primary/web, or rmctl delete bundle/ch-1",
    )


def test_an_apply_tells_which_running_jobs_it_restarts(served):
    settle(served, phase="running")
    plain = served.apply(a_document(spec=a_bundle(priority=3)), dryRun=True).json()["items"][0]
    assert "restarts" not in plain
    other = a_bundle(a_job_entry(command=["sleep", "2000"]))
    told = served.apply(a_document(spec=other), dryRun=True).json()["items"][0]
    assert told["restarts"] == ["ch-1/primary/web"]
    template = a_document("template", "web", {"env": {"A": "1"}})
    assert served.apply(template).json()["items"][0]["outcome"] == "created"
    changed = served.apply(a_document("template", "web", {"env": {"A": "2"}})).json()["items"][0]
    assert changed["restarts"] == ["ch-1/primary/web"]


def test_an_equal_apply_of_a_broken_bundle_names_the_cure(served):
    def break_it(tx):
        bundle = resources.get(tx, Ref("bundle", "ch-1", "default"))
        broken = Broken(since=tx.now, reason="RestartCeiling", job="web")
        resources.replace_status(tx, bundle, bundle.status.model_copy(update={"broken": broken, "state": "broken"}))

    served.store.write(break_it)
    item = served.apply(a_document()).json()["items"][0]
    assert (item["outcome"], item["hint"]) == ("unchanged", "rmctl restart bundle/ch-1")


@pytest.mark.req("T12", "B93")
def test_a_bundle_under_deletion_is_revived_by_a_changed_spec_only(served):
    deleted = served.client.delete(f"{API}/namespaces/default/bundles/ch-1").json()
    since = deleted["metadata"]["deletionTimestamp"]
    answer = served.apply(a_document())
    assert (answer.status_code, answer.json()["message"]) == (409, f'bundle "ch-1": is being deleted since {since}')
    assert served.apply(a_document(spec=a_bundle(priority=1))).json()["items"][0]["outcome"] == "configured"
    found = served.get("namespaces/default/bundles/ch-1")
    assert ("deletionTimestamp" in found["metadata"], found["metadata"]["uid"]) == (False, deleted["metadata"]["uid"])


def tail(served, text, attempt=1):
    """An agent has shipped the end of what the job wrote."""

    def write(tx):
        uid = resources.get(tx, JOB).uid
        nodes.put_log_tail(tx, LogTail(uid, f"i{attempt}", attempt, text, False, tx.now + attempt))

    served.store.write(write)


def instance(served, attempt, state):
    """What the agent last told of an attempt."""

    def write(tx):
        uid = resources.get(tx, JOB).uid
        nodes.put_instance(tx, Instance(uid, f"i{attempt}", "primary", "n", attempt, state, at=tx.now))

    served.store.write(write)


def test_logs_of_this_attempt_and_of_the_one_before(served):
    path = f"{API}/{JOBS}/ch-1.primary.web/log"
    assert served.client.get(path).text == ""
    tail(served, b"first\n", 1)
    tail(served, b"second \xff\n", 2)
    instance(served, 1, "exited")
    instance(served, 2, "running")
    assert served.client.get(path).content == b"second \xff\n"
    assert served.client.get(path, params={"previous": "true"}).content == b"first\n"
    assert served.client.get(path, params={"tailBytes": "3"}).content == b" \xff\n"
    assert served.client.get(f"{API}/{JOBS}/ch-1.primary.other/log").status_code == 404


def test_logs_are_followed(served):
    tail(served, b"one\n")
    with served.client.stream("GET", f"{API}/{JOBS}/ch-1.primary.web/log", params={"follow": "true"}) as answer:
        lines = answer.iter_lines()
        assert next(lines) == "one"
        tail(served, b"one\ntwo\n")
        assert next(lines) == "two"
        tail(served, b"next life\n", 2)
        assert next(lines) == "next life"


def test_why_a_job_waits(served):
    waits = condition("Ready", False, "NoFit", "waits for a place")
    settle(served, phase="pending", conditions=(waits,))
    why = served.get(f"{JOBS}/ch-1.primary.web/why")
    assert why["sentence"] == "job/ch-1/primary/web waits for a place."
    assert why["sections"][:3] == [
        {"title": "Planned just now", "rows": ["no node fits (1 node): 1 × fits: 0 of 1 vcpu free"]},
        {
            "title": "Nodes (every filter that refuses, the counted one first)",
            "rows": [["n", "fits: 0 of 1 vcpu free"]],
        },
        {"title": "Would fit if", "rows": ["1. more"]},
    ]
    assert why["next"] == ["rmctl node join NAME --pool local"]


def test_why_a_job_crashes(served):
    def happen(tx):
        uid = resources.get(tx, JOB).uid
        ended = Instance(uid, "i1", "primary", "node-a", 1, "exited", code=3, at=1767225600.0, ran_seconds=2.5)
        nodes.put_instance(tx, ended)
        events.add(tx, JOB, uid, Event("JobUpdated", "exit 3", "Warning"))

    served.store.write(happen)
    tail(served, b"starting\nboom\n")
    crashing = condition("Ready", False, "CrashLooping", "keeps crashing: exit 3 after 2.5 s")
    settle(served, phase="backoff", conditions=(crashing,))
    why = served.get(f"{JOBS}/ch-1.primary.web/why")
    sections = {section["title"]: section["rows"] for section in why["sections"]}
    assert why["sentence"] == "job/ch-1/primary/web keeps crashing: exit 3 after 2.5 s"
    assert sections["Exits"] == [["2026-01-01T00:00:00Z", "attempt 1", "2.5 s", "node-a", "exit 3"]]
    assert sections["Last words of attempt 1"] == ["| starting", "| boom"]
    assert [row[1:] for row in sections["Events (newest first)"]] == [["Warning", "JobUpdated", "exit 3"]]


def test_why_a_bundle_is_not_ready_points_at_its_job(served):
    waits = condition("Ready", False, "NoFit", "waits for a place")
    settle(served, phase="pending", conditions=(waits,))
    why = served.get("namespaces/default/bundles/ch-1/why")
    assert why["sections"][0] == {
        "title": "Jobs",
        "rows": [["job/ch-1/primary/web", "False", "NoFit", "waits for a place"]],
    }
    assert why["next"] == ["rmctl why job/ch-1/primary/web"]
