"""Deliveries over real HTTP: signed ones wake, all others are told nothing, and a storm makes few writes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.http import deliveries, webhooks
from api.http.webhooks import MAX_BODY_BYTES
from resources.reference import Ref
from store import events, queue, resources
from store.secret_files import SecretFiles
from tests.http_serving import Served, serving

SECRET = "correct horse"
TARGET = Ref("template", "site", "default")
PAYLOAD = {"action": "opened", "name": "site"}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Two webhooks, of either signature, and a template for them to wake."""
    secrets = SecretFiles(tmp_path / "secrets", lambda: "salt")
    secrets.put("default", "hooks", "key", SECRET)
    with serving(secrets=secrets) as found:
        for name in ("standard", "github"):
            spec = {
                "secret": {"secret": "hooks", "key": "key"},
                "signature": name,
                "wakes": [{"kind": "template", "key": "${name}"}],
            }
            found.store.write(
                lambda tx, name=name, spec=spec: resources.create(tx, Ref("webhook", name, "default"), spec)
            )
        found.store.write(lambda tx: resources.create(tx, TARGET, {}))
        found.store.write(lambda tx: queue.remove(tx, TARGET))
        yield found


def wakes(served: Served, ref: Ref = TARGET) -> int:
    with served.store.read() as tx:
        return next((row.wakes for row in queue.list_all(tx) if row.name == ref.name), 0)


def standard(body: bytes, *, id_: str = "1", at: float | None = None, secret: str = SECRET) -> dict[str, str]:
    instant = str(int(time.time() if at is None else at))
    digest = hmac.new(secret.encode(), f"{id_}.{instant}.".encode() + body, hashlib.sha256).digest()
    signature = f"v1,AAAA v1,{base64.b64encode(digest).decode()}"
    return {"webhook-id": id_, "webhook-timestamp": instant, "webhook-signature": signature}


def at(body: bytes, instant: str) -> dict[str, str | bytes]:
    """Well signed, at what is no instant."""
    digest = hmac.new(SECRET.encode(), f"1.{instant}.".encode() + body, hashlib.sha256).digest()
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {"webhook-id": "1", "webhook-timestamp": instant.encode("latin-1"), "webhook-signature": signature}


def github(body: bytes, secret: str = SECRET) -> dict[str, str]:
    return {"x-hub-signature-256": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


def post(served: Served, name: str, body: bytes, headers: Mapping[str, str | bytes]) -> httpx.Response:
    """As a stranger on the listener, without a token."""
    url = f"http://127.0.0.1:{served.port}/webhooks/default/{name}"
    return httpx.post(url, content=body, headers=headers, timeout=120)


@pytest.mark.req("T53")
@pytest.mark.parametrize(("name", "sign"), [("standard", standard), ("github", github)])
def test_a_signed_delivery_wakes_its_key_and_a_second_one_of_its_kind_does_not(
    served: Served, name: str, sign: Any
) -> None:
    body = json.dumps(PAYLOAD).encode()
    headers = sign(body)
    before = generation(served)
    assert [post(served, name, body, headers).status_code for _ in range(3)] == [202] * 3
    assert (wakes(served), generation(served)) == (1, before)
    with served.store.read() as tx:
        found = events.list_for(tx, Ref("webhook", name, "default"))
    assert [(one.type, one.count) for one in found if one.type == "WebhookReceived"] == [("WebhookReceived", 1)]


def generation(served: Served) -> int:
    """What a source may never move: it carries no transition."""
    with served.store.read() as tx:
        return resources.get(tx, TARGET).resource_version


@pytest.mark.req("T53")
def test_what_is_not_signed_well_is_told_nothing_and_wakes_nobody(served: Served) -> None:
    body = json.dumps(PAYLOAD).encode()
    old, early = time.time() - 600, time.time() + 600
    refused = [
        post(served, "standard", body, {}),
        post(served, "standard", body, standard(body, secret="wrong")),
        post(served, "standard", body, standard(body, at=old)),
        post(served, "standard", body, standard(body, at=early)),
        post(served, "standard", body + b" ", standard(body)),
        post(served, "standard", body, {**standard(body), "webhook-id": "2"}),
        *(post(served, "standard", body, at(body, instant)) for instant in ("²", "9" * 5000)),
        post(served, "standard", body, github(body)),
        post(served, "github", body, github(body, "wrong")),
        post(served, "github", body, {"x-hub-signature-256": ""}),
        post(served, "nowhere", body, standard(body)),
    ]
    assert {one.status_code for one in refused} == {404}
    assert len({one.json()["message"] for one in refused}) == 1
    assert wakes(served) == 0


@pytest.mark.req("T53")
def test_64_kib_pass_and_one_byte_more_does_not(served: Served) -> None:
    body = json.dumps({**PAYLOAD, "filling": ""}).encode()
    body = body[:-2] + b"x" * (MAX_BODY_BYTES - len(body)) + body[-2:]
    assert len(body) == MAX_BODY_BYTES == 65_536
    assert post(served, "standard", body, standard(body)).status_code == 202
    assert post(served, "standard", body + b" ", standard(body + b" ", id_="2")).status_code == 413
    assert wakes(served) == 1


@pytest.mark.req("T53")
def test_a_delivery_that_stays_half_sent_is_hung_up_on(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "BODY_SECONDS", 0.1)
    with socket.create_connection(("127.0.0.1", served.port)) as half:
        half.sendall(b"POST /webhooks/default/standard HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert half.recv(12) == b"HTTP/1.1 408"
        while half.recv(4096):
            pass


@pytest.mark.req("T53")
@pytest.mark.parametrize("body", [b"", b"[]", b"not json", b'{"name": {"x": 1}}', b"[" * 10_000, b'{"name": "other"}'])
def test_a_signed_body_that_names_nothing_there_wakes_nobody(served: Served, body: bytes) -> None:
    assert post(served, "standard", body, standard(body)).status_code == 202
    assert wakes(served) == 0


@pytest.mark.req("T53")
def test_a_storm_is_one_row_and_far_fewer_writes_than_deliveries(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen senders at a time, each waiting for its answer; on a slow machine too they come together."""
    monkeypatch.setattr(webhooks, "TOGETHER_SECONDS", 1.0)
    bodies = [json.dumps({**PAYLOAD, "number": number}).encode() for number in range(128)]
    url = f"http://127.0.0.1:{served.port}/webhooks/default/standard"

    def deliver(number: int) -> int:
        return client.post(url, content=bodies[number], headers=standard(bodies[number], id_=str(number))).status_code

    with httpx.Client(timeout=300) as client, ThreadPoolExecutor(16) as pool:
        assert set(pool.map(deliver, range(128))) == {202}
    assert 1 <= wakes(served) <= 64
    with served.store.read() as tx:
        assert len([row for row in queue.list_all(tx) if row.name == "site"]) == 1


def test_a_header_may_say_which_deliveries_are_of_interest(served: Served) -> None:
    webhook = Ref("webhook", "github", "default")

    def narrow(tx: Any) -> None:
        live = resources.get(tx, webhook)
        only = {"name": "X-GitHub-Event", "values": ["pull_request"]}
        resources.replace(tx, live, document={**live.document, "only": only})

    served.store.write(narrow)
    body = json.dumps(PAYLOAD).encode()
    assert post(served, "github", body, {**github(body), "X-GitHub-Event": "push"}).status_code == 202
    assert wakes(served) == 0
    assert post(served, "github", body, {**github(body), "X-GitHub-Event": "pull_request"}).status_code == 202
    assert wakes(served) == 1


@pytest.mark.req("T53")
def test_deliveries_are_counted_in_the_status_with_few_writes(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliveries, "TELL_SECONDS", 0.2)
    webhook = Ref("webhook", "standard", "default")

    def looked_at(tx: Any) -> None:
        live = resources.get(tx, webhook)
        resources.replace_status(tx, live, live.status)

    served.store.write(looked_at)
    body = json.dumps(PAYLOAD).encode()
    for number in range(5):
        post(served, "standard", body, standard(body, id_=str(number)))
        post(served, "standard", body, standard(body, secret="wrong"))
    while True:
        with served.store.read() as tx:
            status = resources.get(tx, webhook).status
        if (status.received, status.refused) == (5, 5):
            break
        assert status.received <= 5
    assert status.last_at is not None
