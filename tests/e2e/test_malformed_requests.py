"""Malformed requests for a place: refused before the store is asked to write, or to lock anything."""

from __future__ import annotations

import pytest

from store.store import Store
from tests.http_serving import serving

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


@pytest.mark.req("P7", "P6", "P8")
def test_a_malformed_request_is_refused_before_any_write(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as served:
        served.put_pool()
        ran: list[str] = []
        for name in ("write", "write_all"):
            monkeypatch.setattr(Store, name, lambda *_a, name=name, **_k: ran.append(name))
        for wrong in WRONG:
            named = {"apiVersion": "rmctl/v1", "kind": "reservation", "metadata": {"name": "r"}}
            answer = served.apply({**named, "spec": {"pool": "local", **wrong}})
            assert answer.status_code in (400, 422), (wrong, answer.text)
        monkeypatch.undo()
        assert ran == []
