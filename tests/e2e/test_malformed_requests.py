"""Malformed requests for a place: refused before the store is asked to write, or to lock anything."""

from __future__ import annotations

import pytest

from store.store import Store
from tests.http_serving import API, serving

CARD = {"class": "gpu", "count": 1}
WRONG = [
    {},
    {"devices": [{"class": "gpu", "count": 0}]},
    {"devices": [{"class": "gpu", "count": 1.5}]},
    {"devices": [{"class": "gpu", "count": 1, "selector": "a b"}]},
    {"devices": [CARD], "nodeLabels": {"a": "b"}},
    {"devices": [CARD], "end": "2020-01-01T00:00:00Z", "durationSeconds": 5},
    {"amounts": {"vcpuMilli": -1}},
    {"devices": [CARD], "gang": {"size": 1}},
]


NAMED = {"apiVersion": "rmctl/v1", "kind": "reservation", "metadata": {"name": "r"}}


@pytest.mark.req("P7", "P6", "P8")
@pytest.mark.parametrize("verb", ["batch", "batch-behind-a-pool", "post", "put", "apply-patch", "merge-patch"])
def test_a_malformed_request_is_refused_before_any_write(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as served:
        served.put_pool()
        booked = served.apply({**NAMED, "spec": {"pool": "local", "devices": [CARD]}})
        assert booked.status_code == 200, booked.text
        one = f"{API}/reservations/r"
        ran: list[str] = []
        for name in ("write", "write_all"):
            monkeypatch.setattr(Store, name, lambda *_a, name=name, **_k: ran.append(name))
        for wrong in WRONG[verb == "apply-patch" :]:  # applying nothing leaves what stands there
            spec = {"pool": "local", "devices": None, **wrong}
            document = {**NAMED, "spec": spec}
            match verb:
                case "batch":
                    answer = served.apply(document)
                case "batch-behind-a-pool":
                    pool = {"apiVersion": "rmctl/v1", "kind": "pool", "metadata": {"name": "more"}, "spec": {}}
                    answer = served.apply(pool, document)
                case "post":
                    document["metadata"] = {"name": "another"}
                    answer = served.client.post(f"{API}/reservations", json=document)
                case "put":
                    answer = served.client.put(one, json=document)
                case "apply-patch":
                    answer = served.patch(
                        "reservations/r", document, "apply-patch+yaml", fieldManager="x", force="true"
                    )
                case _:
                    answer = served.patch("reservations/r", {"spec": spec})
            assert answer.status_code in (400, 422), (wrong, answer.text)
        monkeypatch.undo()
        assert ran == []
