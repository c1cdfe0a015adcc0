"""What operators do beside changing specs, over HTTP: resolving, removing, holding, secrets, commands, backups."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controllers.providers.agent_commands import ExecJob
from controllers.runtime.environment import Threads
from resources.effect import Answer, Applied, Deferred, Effect, Rejected, Unknown
from resources.facts import Instance
from resources.reference import Ref
from store import effects, nodes, queue, resources
from store.secret_files import SecretFiles
from tests.builders import a_bundle
from tests.http_serving import API, Served, a_document, serving

START = Effect("StartJob", "start/1/1", "agents", {"x": 1}, target="node-a")
BUNDLE = Ref("bundle", "ch-1", "default")


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as found:
        found.put_pool()
        yield found


def unsure(served: Served) -> str:
    """A bundle with an effect that nobody can tell about; the effect's id."""
    assert served.apply(a_document()).status_code == 200

    def write(tx: Any) -> str:
        bundle = resources.get(tx, BUNDLE)
        effects.record(tx, bundle, START)
        (claim,) = effects.claim(tx, "agents", limit=1, token=lambda: "t" * 40)
        return effects.answer(tx, claim, Unknown("the stream ended")).id

    return served.store.write(write)


def post(served: Served, path: str, body: Any) -> Any:
    return served.client.post(f"{API}/{path}", json=body)


def the_effect(served: Served) -> Any:
    (found,) = served.get("effects")["items"]
    return found


def audited(served: Served, **query: Any) -> list[str]:
    items = served.get("events", limit=100, **query)["items"]
    return [one["message"] for one in items if one["type"] == "AuditAppended"]


def test_an_effect_of_unknown_outcome_is_adopted(served: Served) -> None:
    answer = post(served, "effects/resolve", {"id": unsure(served), "adopt": "i-77", "reason": "seen there"})
    assert (answer.status_code, answer.json()["state"], answer.json()["externalRef"]) == (200, "applied", "i-77")
    assert any("resolved StartJob start/1/1 as i-77: seen there" in told for told in audited(served))
    again = post(served, "effects/resolve", {"id": answer.json()["id"], "absent": True, "reason": "x"})
    assert (again.status_code, "is applied already" in again.json()["message"]) == (409, True)


def test_an_effect_that_never_happened_is_tried_from_the_start(served: Served) -> None:
    assert post(served, "effects/resolve", {"id": unsure(served), "absent": True, "reason": "no"}).status_code == 200
    found = the_effect(served)
    assert (found["state"], found["attempts"]) == ("pending", 0)


def test_an_effect_that_a_worker_is_at_is_left_to_it(served: Served) -> None:
    wanted = unsure(served)

    def take(tx: Any) -> int:
        effects.hurry(tx, "node-a")
        return len(effects.claim(tx, "agents", limit=1, token=lambda: "u" * 40))

    assert served.store.write(take) == 1
    answer = post(served, "effects/resolve", {"id": wanted, "absent": True, "reason": "no"})
    assert (answer.status_code, "a worker is at it now" in answer.json()["message"]) == (409, True)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ([], "an object is expected"),
        ({"id": "x", "absent": True, "reason": "r"}, "id: expected UID:KEY"),
        ({"id": "u:k", "reason": "r"}, "either adopt: REF or absent: true"),
        ({"id": "u:k", "absent": True, "adopt": "x", "reason": "r"}, "either adopt: REF or absent: true"),
        ({"id": "u:k", "absent": "yes", "reason": "r"}, "either adopt: REF or absent: true"),
        ({"id": "u:k", "adopt": "a\nb", "reason": "r"}, "adopt: expected 1 to 1024 printable characters"),
        ({"id": "u:k", "absent": True}, "reason: required"),
        ({"id": "u:k", "absent": True, "reason": "r" * 1025}, "reason: at most 1024 characters"),
        ({"id": "u:k", "absent": True, "reason": "r", "more": 1}, "unknown field more"),
    ],
)
def test_a_resolution_is_read_strictly(served: Served, body: Any, told: str) -> None:
    answer = post(served, "effects/resolve", body)
    assert (answer.status_code, answer.json()["message"].startswith(told)) == (400, True), answer.json()


@pytest.mark.req("S3")
def test_a_removal_by_force_takes_finalizers_and_children_and_tells_what_may_be_left(served: Served) -> None:
    effect = unsure(served)

    def write(tx: Any) -> str:
        bundle = resources.get(tx, BUNDLE)
        job = {"bundle": "ch-1", "role": "primary", "index": 0, "jobName": "encode", "pool": "local", "command": ["x"]}
        asks = {"requirements": {"requiredCapacity": 1, "onRuntimeFailure": "drop"}}
        ref = Ref("job", "ch-1.primary.encode", "default")
        made = resources.create(tx, ref, {**job, **asks}, finalizers=("stranger/keeps",), owner=bundle.uid)
        nodes.put_instance(tx, Instance(made.uid, "i1", "primary", "node-a", 1, "ready", pid=42, job=ref.name))
        resources.request_deletion(tx, bundle)
        return made.uid

    uid = served.store.write(write)
    path = "namespaces/default/bundles/ch-1/removal"
    assert post(served, path, {}).status_code == 400
    answer = post(served, path, {"reason": "stuck"}).json()
    assert answer["left"] == [
        {"of": "job/ch-1/primary/encode", "instance": "i1", "node": "node-a", "pid": 42},
        {"of": "bundle/ch-1", "effect": effect, "kind": "StartJob", "target": "node-a", "state": "indeterminate"},
    ]
    assert served.get("namespaces/default/bundles")["items"] == served.get("namespaces/default/jobs")["items"] == []
    assert (the_effect(served)["state"], the_effect(served)["code"]) == ("rejected", "abandoned")
    findings = served.get("audit/capacity")["findings"]
    assert [one["message"] for one in findings] == [f"job/ch-1/primary/encode runs as i1, pid 42: unowned, was {uid}"]
    told = audited(served, **{"for": "job/ch-1/primary/encode"})
    assert any("removed by force: stuck" in one for one in told)


def test_a_pass_can_be_asked_for_and_the_queue_rebuilt(served: Served) -> None:
    served.apply(a_document(spec=a_bundle()))
    served.store.write(lambda tx: [queue.remove(tx, Ref("pool", "local")), queue.remove(tx, BUNDLE)])
    assert post(served, "namespaces/default/bundles/ch-1/reconcile", {}).status_code == 202
    assert [one["name"] for one in served.get("queue")["items"]] == ["ch-1"]
    assert post(served, "queue/rebuild", {}).json()["woken"] == 2
    assert sorted(one["name"] for one in served.get("queue")["items"]) == ["ch-1", "local"]
    assert post(served, "namespaces/default/bundles/nosuch/reconcile", {}).status_code == 404


def test_a_hold_is_told_and_lifted_with_an_audit(served: Served) -> None:
    assert served.get("server/hold")["held"] is False
    assert post(served, "server/hold", {"reason": "a storm"}).json()["reason"] == "a storm"
    assert served.get("diagnosis")["held"]["reason"] == "a storm"
    answer = post(served, "server/resume", {}).json()
    assert (answer["lifted"], answer["held"], answer["findings"]) == (True, False, [])
    assert post(served, "server/resume", {}).json()["lifted"] is False


@pytest.mark.req("B78")
def test_secrets_are_written_listed_and_never_told(tmp_path: Path) -> None:
    files = SecretFiles(tmp_path / "secrets", Threads().token)
    with serving(secrets=files) as served:
        path = f"{API}/namespaces/default/secrets"
        put = served.client.put(f"{path}/api/token", json={"value": "sesame-open"})
        assert (put.status_code, put.json()["outcome"], "value" in put.json()) == (200, "created", False)
        assert files.value("default", "api", "token") == "sesame-open"
        assert files.value("other", "api", "token") is None
        listed = served.client.get(path).json()["items"]
        assert [(one["name"], one["key"], one["usedBy"]) for one in listed] == [("api", "token", [])]
        assert "sesame" not in served.client.get(path).text
        for name, key, body, code in (
            ("api", "t", {"value": ""}, 422),
            ("api", "t", {"value": "a\0b"}, 422),
            ("api", "t", {"value": "x" * 65537}, 422),
            ("api", "t", {"value": 5}, 400),
            ("api", "t", {"value": "x", "more": "sesame"}, 400),
            ("API", "t", {"value": "x"}, 422),
            ("api", "-x", {"value": "x"}, 422),
            ("api", "-x", {"value": "x"}, 422),
        ):
            answer = served.client.put(f"{path}/{name}/{key}", json=body)
            assert answer.status_code == code, (name, key, answer.text)
            assert "sesame" not in answer.text
        assert served.client.delete(f"{path}/api/token").status_code == 200
        assert served.client.delete(f"{path}/api/token").status_code == 404
        assert files.keys("default", "api") == ()
        assert not list((tmp_path / "secrets").rglob("api*"))


ANSWERS: list[tuple[Answer, int]] = [
    (Applied("x", {"code": 3, "signal": 0, "output": b"o", "error": b"e", "truncated": False, "timedOut": False}), 200),
    (Rejected("no such instance runs here"), 409),
    (Deferred("node-a is not connected", 5.0), 503),
    (Unknown("it took too long"), 504),
]


@pytest.mark.parametrize(("answer", "code"), ANSWERS)
def test_a_command_beside_a_job_and_what_can_come_of_it(answer: Answer, code: int) -> None:
    orders: list[tuple[str, ExecJob, float]] = []

    def run(node: str, order: ExecJob, seconds: float) -> Answer:
        orders.append((node, order, seconds))
        return answer

    with serving(execute=run) as served:
        job = {"bundle": "b", "role": "primary", "index": 0, "jobName": "j", "pool": "local", "command": ["x"]}
        asks = {"requirements": {"requiredCapacity": 1, "onRuntimeFailure": "drop"}}

        def write(tx: Any) -> None:
            made = resources.create(tx, Ref("job", "b.primary.j", "default"), {**job, **asks})
            nodes.put_instance(tx, Instance(made.uid, "i1", "primary", "node-a", 1, "ready", job="b.primary.j"))

        served.store.write(write)
        body = {"command": ["echo", "x"], "timeoutSeconds": 2, "input": base64.b64encode(b"in").decode()}
        told = post(served, "namespaces/default/jobs/b.primary.j/exec", body)
        assert told.status_code == code, told.text
        ((node, order, seconds),) = orders
        assert (node, order.instance, order.argv, order.input, seconds) == ("node-a", "i1", ("echo", "x"), b"in", 7.0)
        if code == 200:
            assert (told.json()["code"], base64.b64decode(told.json()["stdout"])) == (3, b"o")
        for bad in (
            {},
            {"command": []},
            {"command": [""]},
            {"command": ["a\0"]},
            {"command": ["a"], "timeoutSeconds": 0},
        ):
            assert post(served, "namespaces/default/jobs/b.primary.j/exec", bad).status_code == 400
        assert post(served, "namespaces/default/jobs/none.primary.j/exec", body).status_code == 404


def test_a_backup_counts_only_once_it_has_arrived(served: Served) -> None:
    assert served.client.post(f"{API}/backup/kept", json={"sha256": "0" * 64, "file": "x"}).status_code == 404
    made = served.client.post(f"{API}/backup", json={})
    assert made.content.startswith(b"SQLite format 3\0")
    assert "sha256" not in served.get("backup")
    digest = made.headers["Rmctl-Backup-Sha256"]
    assert post(served, "backup/kept", {"sha256": digest, "file": "/b\n.db"}).status_code == 200
    assert (served.get("backup")["sha256"], served.get("backup")["where"]) == (digest, "/b\\n.db")


@pytest.mark.req("T28")
def test_a_queue_that_was_lost_is_rebuilt_from_what_is_stored(served: Served) -> None:
    """Every resource is due, a key of nothing is gone, and who asked for it stands in the audit."""
    served.apply(a_document())
    stored = [(kind, item["metadata"]["name"]) for kind in ("pool", "bundle", "job") for item in listed(served, kind)]

    def lose(tx) -> None:
        for row in queue.list_all(tx):
            queue.remove(tx, Ref(row.kind, row.name, row.project))
        queue.enqueue(tx, Ref("bundle", "gone", "default"))

    served.store.write(lose)
    answer = post(served, "queue/rebuild", {}).json()
    rows = served.get("queue")["items"]
    assert len(stored) == 2
    assert sorted((row["kind"], row["name"]) for row in rows) == sorted(stored)
    assert (answer["woken"], answer["dropped"]) == (len(stored), 1)
    assert any("rebuilt the queue" in told for told in audited(served))


def listed(served: Served, kind: str) -> list[Any]:
    found: list[Any] = served.get(f"{kind}s")["items"]
    return found
