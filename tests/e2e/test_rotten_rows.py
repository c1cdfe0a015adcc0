"""A row that is not as it was written, under a server that runs: lists go round it, and force removes it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import update

from cli.main import main
from store import tables
from tests.http_serving import API, TOKEN, Served, a_document, serving

POOL = f"{API}/pools/spoilt"


@pytest.fixture
def served() -> Iterator[Served]:
    """Two pools and a bundle with a job, that of the second pool rotten."""
    with serving() as found:
        found.put_pool()
        found.put_pool("spoilt")
        assert found.apply(a_document()).status_code == 200
        yield found


def rot(served: Served, kind: str, name: str, **columns: str) -> None:
    table = tables.resources
    statement = update(table).where(table.c.kind == kind, table.c.name == name).values(**columns)
    served.store.write(lambda tx: tx.write(statement))


@pytest.mark.parametrize("query", ["", "?limit=1", "?limit=10"])
def test_a_list_shows_the_rest_and_names_the_row(served, query):
    rot(served, "pool", "spoilt", spec="{}")
    answer = served.client.get(f"{API}/pools{query}")
    assert (answer.status_code, [one["metadata"]["name"] for one in answer.json()["items"]]) == (200, ["local"])
    assert "pool/spoilt is left out: its row is not as written" in answer.headers["Warning"]


def test_the_row_itself_is_refused_with_what_to_do(served):
    rot(served, "pool", "spoilt", spec="{}")
    answer = served.client.get(POOL)
    assert (answer.status_code, answer.json()["reason"], answer.json()["message"]) == (
        503,
        "CorruptRow",
        'pool "spoilt": its row is not as written',
    )
    assert "rmctl delete pool/spoilt --force --reason WHY" in answer.json()["details"]["hint"]


@pytest.mark.parametrize(
    "words", ["get pool spoilt", "describe pool/spoilt", "why pool/spoilt", "label pool spoilt a=b"]
)
def test_rmctl_names_the_row_and_the_way_out(served, words, capsys, monkeypatch):
    rot(served, "pool", "spoilt", spec="{}")
    monkeypatch.setenv("RMCTL_TOKEN", TOKEN)
    server = f"--server=http://127.0.0.1:{served.port}"
    assert main([server, *words.split()]) == 5
    assert capsys.readouterr() == (
        "",
        (
            'rmctl: error: (CorruptRow) pool "spoilt": its row is not as written\n'
            "hint: rmctl restore brings a backup back, rmctl delete pool/spoilt --force --reason WHY removes it\n"
        ),
    )
    assert main([server, "delete", "pool/spoilt", "--force", "--reason", "rotten"]) == 0
    assert main([server, "get", "pool", "spoilt"]) == 3


def test_the_page_begins_with_the_row(served):
    rot(served, "pool", "spoilt", spec="{}")
    assert "1 row is not as written: pool/spoilt." in served.client.get("/ui", headers={"Accept": "text/html"}).text


@pytest.mark.parametrize(
    "columns", [{"spec": "{}"}, {"spec": "no"}, {"status": "[1]"}, {"labels": "1"}, {"finalizers": "{"}]
)
def test_force_removes_it_whatever_rotted(served, columns):
    rot(served, "pool", "spoilt", **columns)
    answer = served.client.post(f"{POOL}/removal", json={"reason": "rotten"})
    assert answer.status_code == 200, answer.text
    assert served.client.get(POOL).status_code == 404
    assert [one["metadata"]["name"] for one in served.get("pools")["items"]] == ["local"]


def test_a_refused_removal_leaves_the_row_as_it_was(served):
    """The pool of a bundle is in use, rotten or not."""
    rot(served, "pool", "local", labels="1")
    assert served.client.post(f"{API}/pools/local/removal", json={"reason": "x"}).status_code == 409
    assert served.client.get(f"{API}/pools/local").status_code == 503
