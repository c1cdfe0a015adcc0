"""What HTTP has beside the resources: health, discovery, tokens, metrics, tables, core nodes, the door."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import httpx
import pytest

from api.http.services import Caller
from resources.effect import Effect
from resources.facts import Inventory, NodeFacts
from resources.reference import Ref
from store import credentials, effects, ledger, nodes, queue, resources
from tests.http_serving import API, TOKEN, Served, a_document, serving

METRIC = "rm_queue_oldest_due_seconds "

TABLE = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as found:
        found.put_pool()
        yield found


def put_node(served, name="node-a", **spec):
    """A node whose agent has connected."""

    def write(tx):
        resources.create(tx, Ref("node", name), {"pool": "local", **spec}, labels={"rmctl/cap.nvenc": "*"})
        nodes.put_facts(tx, NodeFacts(name, "b", Inventory(4000, 4, agent_version="0.1.0"), tx.now, connected=True))

    served.store.write(write)


def test_health_and_readiness():
    ready = [False]
    with serving(ready=lambda: ready[0]) as served:
        assert served.client.get("/healthz").text == "ok"
        assert served.client.get("/readyz").status_code == 503
        ready[0] = True
        assert served.client.get("/readyz").text == "ok"


def test_every_answer_names_the_version(served):
    assert served.client.get("/healthz").headers["rmctl-version"] == "0.1.0"
    assert served.client.get("/nowhere").headers["rmctl-version"] == "0.1.0"
    assert served.client.get("/version").json()["rmctl"] == "0.1.0"


def test_a_listener_asks_for_a_token():
    with serving(tokens={TOKEN: Caller("ana")}) as served:
        base = f"http://127.0.0.1:{served.port}"
        path = f"{base}{API}/bundles"
        basic = base64.b64encode(f"rmctl:{TOKEN}".encode()).decode()
        codes = [
            httpx.get(path).status_code,
            httpx.get(path, headers={"Authorization": "Bearer wrong"}).status_code,
            httpx.get(path, headers={"Authorization": "Basic not-base64"}).status_code,
            httpx.get(path, headers={"Authorization": f"Bearer {TOKEN}"}).status_code,
            httpx.get(path, headers={"Authorization": f"Basic {basic}"}).status_code,
            httpx.get(f"{base}/healthz").status_code,
        ]
        assert codes == [401, 401, 401, 200, 200, 200]
        told = httpx.get(path).json()
        assert (told["reason"], told["message"]) == ("Unauthorized", "a valid token is required")


def test_clients_discover_the_kinds(served):
    groups = served.client.get("/apis").json()["groups"]
    assert [(group["name"], group["preferredVersion"]["groupVersion"]) for group in groups] == [("rmctl", "rmctl/v1")]
    listed = served.client.get(API).json()["resources"]
    assert {(one["name"], one["kind"], one["namespaced"]) for one in listed} >= {
        ("bundles", "bundle", True),
        ("pools", "pool", False),
    }
    assert [one["name"] for one in served.client.get("/api/v1").json()["resources"]] == ["events", "nodes", "services"]


def test_openapi_has_what_kubectl_looks_for(served):
    index = served.client.get("/openapi/v3").json()["paths"]
    document = served.client.get(index["apis/rmctl/v1"]["serverRelativeURL"]).json()
    patch = document["paths"]["/apis/rmctl/v1/namespaces/{namespace}/bundles/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "rmctl", "version": "v1", "kind": "bundle"}
    assert {"fieldValidation", "dryRun", "fieldManager"} <= {one["name"] for one in patch["parameters"]}
    spec = document["components"]["schemas"]["rmctl.v1.bundle.spec"]
    assert (spec["required"], spec["properties"]["priority"]["maximum"]) == (["pool", "jobs"], 1000)


def test_kubectl_gets_tables(served):
    served.apply(a_document(), a_document(name="ch-2"))
    table = served.client.get(f"{API}/namespaces/default/bundles", headers={"Accept": TABLE}).json()
    assert [column["name"] for column in table["columnDefinitions"]] == [
        "Name",
        "Ready",
        "Reason",
        "Age",
        "Where",
        "Detail",
    ]
    assert [(row["cells"][0], row["cells"][1], row["cells"][4]) for row in table["rows"]] == [
        ("ch-1", "Unknown", "local"),
        ("ch-2", "Unknown", "local"),
    ]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    whole = served.client.get(
        f"{API}/namespaces/default/bundles/ch-1", headers={"Accept": TABLE}, params={"includeObject": "Object"}
    ).json()
    assert whole["rows"][0]["object"]["kind"] == "bundle"


def test_nodes_show_what_their_agents_told(served):
    put_node(served)
    status = served.get("nodes/node-a")["status"]
    assert (status["agentVersion"], status["lastHeartbeat"].endswith("Z")) == ("0.1.0", True)
    assert served.get("nodes")["items"][0]["status"]["agentVersion"] == "0.1.0"


def test_kubectl_cordons_core_nodes(served):
    put_node(served)
    node = served.client.get("/api/v1/nodes/node-a").json()
    assert (node["kind"], node["spec"], node["status"]["nodeInfo"]["kubeletVersion"]) == ("Node", {}, "0.1.0")
    headers = {"Content-Type": "application/strategic-merge-patch+json", "User-Agent": "kubectl/v1.32"}
    on = served.client.patch("/api/v1/nodes/node-a", json={"spec": {"unschedulable": True}}, headers=headers).json()
    assert (on["spec"], served.get("nodes/node-a")["spec"]) == (
        {"unschedulable": True},
        {"pool": "local", "cordoned": True},
    )
    table = served.client.get("/api/v1/nodes", headers={"Accept": TABLE}).json()
    assert table["rows"][0]["cells"][1] == "Unknown,SchedulingDisabled"
    off = served.client.patch("/api/v1/nodes/node-a", json={"spec": {"unschedulable": None}}, headers=headers).json()
    assert (off["spec"], served.get("nodes/node-a")["spec"]) == ({}, {"pool": "local"})
    refused = served.client.patch("/api/v1/nodes/node-a", json={"spec": {"taints": []}}, headers=headers)
    assert refused.status_code == 422


def test_pods_are_refused_so_that_a_drain_does_not_pretend(served):
    answer = served.client.get("/api/v1/pods", params={"fieldSelector": "spec.nodeName=node-a"})
    assert answer.status_code == 405
    assert answer.json()["message"].startswith("use rmctl ")
    assert "kubectl describe nodes.rmctl NODE" in answer.json()["message"]  # `kubectl describe node` asks for pods too


@pytest.mark.req("B50")
def test_the_pool_of_a_node_is_immutable_and_an_apply_keeps_the_systems_labels(served):
    put_node(served)
    served.put_pool("other")
    refused = served.apply(a_document("node", "node-a", {"pool": "other"}))
    assert refused.json()["details"]["causes"][0]["message"] == "field is immutable"
    served.client.put(f"{API}/nodes/node-a", json=a_document("node", "node-a", {"pool": "local"}, labels={"a": "b"}))
    assert served.get("nodes/node-a")["metadata"]["labels"] == {"rmctl/cap.nvenc": "*", "a": "b"}


def test_a_node_that_holds_room_is_not_deleted(served):
    from resources.allocation import Allocation

    put_node(served)
    owner = Ref("job", "ch-1.primary.web", "default")

    def hold(tx):
        ledger.set_room(tx, "node-a", "local", {"vcpu": (4000, 4000)})
        ledger.reserve(tx, Allocation("a", "u", owner, "i", "local", "node-a", 1000))

    served.store.write(hold)
    answer = served.client.delete(f"{API}/nodes/node-a")
    assert (answer.status_code, answer.json()["message"]) == (409, 'node "node-a": is in use by job/ch-1/primary/web')


def test_join_tokens_are_told_once(served):
    answer = served.client.post(f"{API}/tokens", json={"node": "mybox", "pool": "local", "labels": {"rack": "7"}})
    raw = answer.json()["token"]
    with served.store.read() as tx:
        token = credentials.join_token(tx, raw)
    assert (answer.status_code, token) == (201, credentials.JoinToken("mybox", "local", {"rack": "7"}))


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ({}, "node", "required"),
        ({"node": "A b"}, "node", "must match [a-z0-9]([-a-z0-9]*[a-z0-9])?"),
        ({"node": "a", "pool": "nowhere"}, "pool", 'no pool "nowhere"'),
        ({"node": "a", "ttlSeconds": 0}, "ttlSeconds", "expected a number over 0, at most 604800"),
        ({"node": "a", "labels": {"rmctl/x": "y"}}, "labels.rmctl/x", "labels that start with rmctl/ are the system's"),
    ],
)
def test_bad_token_requests_are_refused(served, body, field, message):
    answer = served.client.post(f"{API}/tokens", json=body)
    assert answer.status_code == 422
    assert [(c["field"], c["message"]) for c in answer.json()["details"]["causes"]] == [(field, message)]


def test_the_server_tells_about_itself_and_stops_when_asked(served):
    about = served.get("server")
    assert (about["version"], about["ready"], about["pid"] > 0) == ("0.1.0", True, True)
    assert served.client.post(f"{API}/server/stop").status_code == 202
    assert served.stopped.is_set()


def test_effects_and_queue_are_shown(served):
    served.apply(a_document())

    def want(tx):
        bundle = resources.get(tx, Ref("bundle", "ch-1", "default"))
        effects.record(tx, bundle, Effect("StartJob", "start/1/1", "agents", {"secret": "s3cret"}, "node-a"))
        return bundle.uid

    uid = served.store.write(want)
    answer = served.client.get(f"{API}/effects", params={"uid": uid})
    effect = answer.json()["items"][0]
    assert (effect["owner"]["name"], effect["key"], effect["state"], effect["attempts"]) == (
        "ch-1",
        "start/1/1",
        "pending",
        0,
    )
    assert "s3cret" not in answer.text
    keys = {(row["kind"], row["name"], row["claimed"]) for row in served.get("queue")["items"]}
    assert keys == {("pool", "local", False), ("bundle", "ch-1", False)}


def test_metrics_are_labelled_by_kind_never_by_name(served):
    served.apply(a_document())
    text = served.client.get("/metrics").text
    assert "rm_queue_depth 2.0" in text
    assert 'rm_http_requests_total{code="200",method="POST"} 1.0' in text
    assert "ch-1" not in text
    assert 'rm_pool_nodes{pool="local"} 0.0' in text
    for name in ("placements_attempted", "placements_dispatch_failed", "jobs_rejected", "bundles_broken"):
        assert f"rm_{name}_total 0.0" in text


@pytest.mark.req("T27")
def test_how_long_the_key_waits_that_is_due_longest_is_a_metric(served):
    """Also once a worker has it; a key that is due later waits for nothing yet."""

    def wait(tx):
        for row in queue.list_all(tx):
            queue.remove(tx, Ref(row.kind, row.name, row.project))
        queue.enqueue(tx, Ref("pool", "later"), tx.now + 3600.0)
        queue.enqueue(tx, Ref("pool", "late"), tx.now - 3600.0)

    def told():
        (line,) = [one for one in served.client.get("/metrics").text.splitlines() if one.startswith(METRIC)]
        return float(line.split()[1])

    served.store.write(wait)
    assert told() >= 3600.0
    served.store.write(lambda tx: queue.claim(tx, limit=9, token=lambda: "t", backoff=float))
    assert told() >= 3600.0
    served.store.write(lambda tx: queue.remove(tx, Ref("pool", "late")))
    assert told() == 0.0


def test_the_counters_of_placements_follow_what_is_committed(served):
    from resources.event import Event
    from store import events

    served.apply(a_document())

    def fail(tx):
        bundle = resources.get(tx, Ref("bundle", "ch-1", "default"))
        events.add(tx, bundle.ref, bundle.uid, Event("BundleBroken", "web: exit 1", "Warning"))

    served.store.write(fail)
    with pytest.raises(ZeroDivisionError):
        served.store.write(lambda tx: (fail(tx), 1 / 0))
    assert "rm_bundles_broken_total 1.0" in served.client.get("/metrics").text


def test_a_plan_stores_nothing(served):
    before = served.get("server")["revision"]
    body = {"documents": [a_document()]}
    plan = served.client.post(f"{API}/plan", json=body).json()
    assert [(item["name"], item["outcome"], item["placements"]) for item in plan["items"]] == [("ch-1", "created", [])]
    assert served.get("server")["revision"] == before


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (b'{"documents": [NaN]}', 400, "documents[0]: NaN is not JSON"),
        (b'{"documents": [], "documents": []}', 400, 'duplicate key "documents"'),
        (b"[" * 100_000, 400, "nesting deeper than 64"),
        (b"\xff", 400, "not UTF-8 at byte 0"),
        (b"[]", 400, "a batch is an object, got a list"),
        (b'{"documents": []}', 400, "documents: expected a non-empty list of objects"),
        (b'{"documents": [1]}', 422, "expected an object, got 1"),
        (
            b'{"documents": [{}], "x": 1}',
            400,
            "unknown field x; a batch has documents, fieldManager, force, dryRun, project",
        ),
    ],
)
def test_bodies_are_read_strictly(served, content, code, message):
    answer = served.client.post(f"{API}/batch", content=content, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["message"]) == (code, message)


def test_other_media_types_are_refused(served):
    answer = served.client.post(f"{API}/batch", content=b"x", headers={"Content-Type": "text/plain"})
    assert (answer.status_code, answer.json()["reason"]) == (415, "UnsupportedMediaType")
