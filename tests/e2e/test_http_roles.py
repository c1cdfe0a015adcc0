"""Roles and the audit: every route and every RPC with every role, and who is written down for what."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import suppress

import anyio
import grpc
import httpx
import pytest
from grpc import aio

from api.agents import build
from api.http import roles
from api.proto import agent_pb2
from api.proto.agent_pb2_grpc import AgentsStub
from controllers.providers.agents import Connections
from store import credentials, grants
from store.store import Store
from tests.http_serving import API, Served, a_document, serving

MEANINGS = {
    "project": "default",
    "plural": "bundles",
    "kind": "bundle",
    "name": "ch-1",
    "key": "k",
    "resource": "x",
    "event": "1",
}
CALLERS = (*roles.ROLES, "agent")
CLIENT = httpx.Client(timeout=30)
"""One for all: each of its own would read the machine's certificates first."""


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as found:
        found.put_pool()
        yield found


def give(store: Store, role: str) -> str:
    """A secret of somebody with that role."""
    secret = f"{role}-secret-of-forty-characters-and-a-little-more"
    if role == "agent":
        store.write(lambda tx: credentials.issue_node(tx, secret, "node-a"))
    else:
        store.write(lambda tx: grants.issue(tx, secret, "user", f"a-{role}", role))
    return secret


def call(served: Served, secret: str, method: str, path: str, **more) -> httpx.Response:
    address = f"http://127.0.0.1:{served.port}{path}"
    return CLIENT.request(method, address, headers={"Authorization": f"Bearer {secret}"}, **more)


def refusals(served: Served) -> list[str]:
    found = served.get("events", limit=500)["items"]
    return [one["message"] for one in found if one["type"] == "AuditAppended" and one["severity"] == "Warning"]


@pytest.mark.req("B102")
@pytest.mark.parametrize("role", CALLERS)
def test_every_route_answers_a_role_as_the_table_says(served, role):
    secret = give(served.store, role)
    wrong = []
    for route in served.app.routes:
        for method in sorted(route.methods or ("GET", "DELETE")):
            wanted = roles.need(route.path, method)
            listed = route.path in roles.OPEN or wanted is not roles.UNLISTED
            assert listed, f"{method} {route.path} is in no row of the table of roles"
            code = call(served, secret, method, route.path.format(**MEANINGS)).status_code
            allowed = route.path in roles.OPEN or (
                role != "agent" and CALLERS.index(role) >= CALLERS.index(wanted.role)
            )
            if (code == 403) == allowed or code == 401:
                wrong.append((method, route.path, code))
    assert wrong == []


@pytest.mark.req("P138")
def test_whoever_may_read_may_ask_where_a_reservation_would_go(served):
    secret = give(served.store, "viewer")
    document = a_document("reservation", "r", {"pool": "local", "devices": [{"class": "gpu", "count": 1}]})
    planned = call(served, secret, "POST", f"{API}/plan", json={"documents": [document]})
    assert (planned.status_code, planned.json()["kind"]) == (200, "Plan"), planned.text
    created = call(served, secret, "POST", f"{API}/batch", json={"documents": [document]})
    assert created.status_code == 403


def test_a_route_that_nobody_listed_is_an_admins(served):
    assert [roles.allows(roles.Caller("x", role), roles.need("/new", "GET")) for role in (*CALLERS, "")] == [
        False,
        False,
        True,
        False,
        False,
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("role", CALLERS)
async def test_every_rpc_knows_nodes_and_nobody_else(role, tmp_path):
    """A person's secret is neither a credential nor a join token, and a node's is for its own name alone."""
    with serving() as served:
        secret = give(served.store, role)
        door = build(served.store, Connections())
        await door.start(["127.0.0.1:0"])
        found = {}
        try:
            for method in agent_pb2.DESCRIPTOR.services_by_name["Agents"].methods:
                for field in ("credential", "join_token"):
                    inventory = agent_pb2.Inventory(capacity_milli=1000)
                    hello = agent_pb2.Hello(node="node-b", boot_id="b", inventory=inventory, **{field: secret})
                    async with aio.insecure_channel(f"127.0.0.1:{door.ports[0]}") as channel:
                        stream = getattr(AgentsStub(channel), method.name)()
                        await stream.write(agent_pb2.Up(hello=hello))
                        with anyio.fail_after(30):
                            with suppress(aio.AioRpcError):
                                await stream.read()
                            found[method.name, field] = await stream.code()
        finally:
            await door.stop(grace=0)
        known = grpc.StatusCode.PERMISSION_DENIED if role == "agent" else grpc.StatusCode.UNAUTHENTICATED
        assert found == {
            ("Session", "credential"): known,
            ("Session", "join_token"): grpc.StatusCode.UNAUTHENTICATED,
        }


def test_a_refusal_names_the_verb_and_the_role_and_is_written_down(served):
    viewer = give(served.store, "viewer")
    served.apply(a_document())
    path = f"{API}/namespaces/default/bundles/ch-1"
    answer = call(served, viewer, "DELETE", path)
    assert (answer.status_code, answer.json()["reason"], answer.json()["message"]) == (
        403,
        "Forbidden",
        'viewer "a-viewer" may not delete bundles: that takes the role operator',
    )
    call(served, viewer, "POST", f"{API}/batch", json={"documents": [a_document()]})
    assert refusals(served) == [
        'refused: viewer "a-viewer" may not apply: that takes the role operator',
        'refused: viewer "a-viewer" may not delete bundles: that takes the role operator',
    ]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("jobs/ch-1.primary.encode/exec", "run commands in jobs"),
        ("bundles/ch-1/removal", "force the removal of bundles"),
    ],
)
def test_a_refusal_reads_as_a_sentence(served, path, words):
    answer = call(served, give(served.store, "viewer"), "POST", f"{API}/namespaces/default/{path}", json={})
    assert answer.json()["message"] == f'viewer "a-viewer" may not {words}: that takes the role admin'


def test_an_operator_does_not_hand_out_roles(served):
    operator = give(served.store, "operator")
    answer = call(served, operator, "POST", f"{API}/tokens/users", json={"name": "me", "role": "admin"})
    assert (answer.status_code, answer.json()["message"]) == (
        403,
        'operator "a-operator" may not issue tokens: that takes the role admin',
    )


def test_strangers_are_counted_together(served):
    path = f"http://127.0.0.1:{served.port}{API}/bundles"
    with served.watch("events") as lines:
        for _ in range(3):
            assert CLIENT.get(path).status_code == 401
        event = next(one["object"] for one in lines if one["object"]["severity"] == "Warning")
    assert (event["type"], event["message"], event["payload"]) == (
        "AuditAppended",
        "refused: no valid token",
        {"calls": 3},
    )


def test_every_write_is_written_down_with_its_caller(served):
    operator = give(served.store, "operator")
    call(served, operator, "POST", f"{API}/batch", json={"documents": [a_document()], "fieldManager": "x"})
    call(served, operator, "POST", f"{API}/batch", json={"documents": [a_document()], "fieldManager": "x"})
    path = f"{API}/namespaces/default/bundles/ch-1"
    label = {"metadata": {"labels": {"a": "b"}}}
    headers = {"Authorization": f"Bearer {operator}", "Content-Type": "application/merge-patch+json"}
    httpx.patch(f"http://127.0.0.1:{served.port}{path}", json=label, headers=headers)
    httpx.patch(f"http://127.0.0.1:{served.port}{path}?dryRun=All", json={"spec": {"priority": 7}}, headers=headers)
    call(served, operator, "DELETE", path)
    events = served.get("events", **{"for": "bundle/ch-1"})["items"]
    assert [(one["message"], one["payload"]["by"]) for one in events if one["type"] == "AuditAppended"] == [
        (f"a-operator {did}", "a-operator")
        for did in ("asked for its deletion", "changed labels or annotations", "created generation 1")
    ]


def test_the_sockets_caller_is_the_user_that_the_kernel_names(served):
    served.client.post(f"{API}/tokens", json={"node": "mybox"})
    told = served.get("events")["items"]
    me = pwd.getpwuid(os.getuid()).pw_name
    audited = [one["message"] for one in told if one["type"] == "AuditAppended"]
    assert audited == [f"{me} issued a join token for node mybox"]


def test_a_token_lives_from_its_issue_to_its_revocation(served):
    issued = served.client.post(f"{API}/tokens/users", json={"name": "ana", "role": "viewer", "ttlSeconds": 3600})
    token = issued.json()["token"]
    assert (issued.status_code, issued.json()["role"]) == (201, "viewer")
    with served.store.read() as tx:
        assert grants.find(tx, token, "user").name == "ana"
    assert call(served, token, "GET", f"{API}/bundles").status_code == 200
    listed = served.get("tokens/users")["items"]
    assert [(one["name"], one["role"], "token" in one) for one in listed] == [("ana", "viewer", False)]
    again = served.client.post(f"{API}/tokens/users", json={"name": "ana", "role": "operator"}).json()["token"]
    assert [call(served, one, "GET", f"{API}/bundles").status_code for one in (token, again)] == [401, 200]
    assert served.client.delete(f"{API}/tokens/users/ana").status_code == 200
    assert served.client.delete(f"{API}/tokens/users/ana").status_code == 404
    assert call(served, again, "GET", f"{API}/bundles").status_code == 401


def test_a_watch_ends_when_its_token_is_revoked():
    """Nothing that happens after the revocation is told."""
    with serving(recheck_seconds=0.0) as served:
        token = give(served.store, "viewer")
        address = f"http://127.0.0.1:{served.port}{API}/pools?watch=1"
        with httpx.stream("GET", address, headers={"Authorization": f"Bearer {token}"}, timeout=60) as watch:
            lines = watch.iter_lines()
            served.put_pool("first")
            assert "first" in next(lines)
            assert served.client.delete(f"{API}/tokens/users/a-viewer").status_code == 200
            served.put_pool("second")
            assert list(lines) == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "name: required; role: required: one of viewer, operator, admin"),
        ({"name": "ana", "role": "root"}, 'role: "root" is not one of viewer, operator, admin'),
        ({"name": "ana", "role": "agent"}, 'role: "agent" is not one of viewer, operator, admin'),
        ({"name": "A b", "role": "viewer"}, "name: must match [a-z0-9]([-a-z0-9]*[a-z0-9])?"),
        (
            {"name": "ana", "role": "viewer", "ttlSeconds": -1},
            "ttlSeconds: expected a number over 0, at most 3.16224e+08",
        ),
        ({"name": "ana", "role": "viewer", "x": 1}, "unknown field x"),
    ],
)
def test_bad_requests_for_tokens_are_refused(served, body, message):
    answer = served.client.post(f"{API}/tokens/users", json=body)
    assert (answer.status_code, answer.json()["message"]) == (422, message)
