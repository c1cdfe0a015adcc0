"""The web pages over HTTP: what they show, in which words, to whom, and under which headers."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest

from api.http.pages.bars import Part, bar
from resources.facts import Inventory, NodeFacts
from resources.reference import Ref
from store import ledger, nodes, resources
from tests.http_serving import API, TOKEN, Served, a_document, serving

VOID = {"meta", "link", "br", "hr", "img", "input", "rect"}
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


class Page(HTMLParser):
    """The texts of a page, and what is wrong with its tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.cells: list[list[str]] = []
        self.links: list[str] = []
        self.words = ""
        self.feed(text)
        self.close()
        self.wrong += [f"<{tag}> is never closed" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        self.wrong += [f"<{tag}> has {name} twice" for name in set(names) if names.count(name) > 1]
        self.wrong += [f"<{tag} {name}>" for name in names if name == "style" or name.startswith("on")]
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th") and self.cells:
            self.cells[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open[-1] != tag:
            self.wrong.append(f"</{tag}> closes {self.open[-1:]}")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.words += data
        if self.cells and self.open and {"td", "th"} & set(self.open):
            self.cells[-1][-1] = (self.cells[-1][-1] + data).strip()


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as found:
        found.put_pool()
        yield found


def see(served: Served, path: str, code: int = 200) -> Page:
    answer = served.client.get(path, headers=HTML)
    assert (answer.status_code, answer.headers["content-type"]) == (code, "text/html; charset=utf-8"), answer.text
    page = Page(answer.text)
    assert page.wrong == []
    return page


def put_node(served: Served) -> None:
    def write(tx: Any) -> None:
        resources.create(tx, Ref("node", "node-a"), {"pool": "local"})
        nodes.put_facts(tx, NodeFacts("node-a", "b", Inventory(4000, 4), tx.now, connected=True))
        ledger.set_room(tx, "node-a", "local", {"vcpu": (4000, 3000), "memory": (1024, 1024)})

    served.store.write(write)


def address_of_a_page(served: Served, path: str = "/ui") -> str:
    told = served.client.post(f"{API}/tokens/pages", json={}).json()
    return f"http://127.0.0.1:{served.port}{path}?token={told['token']}"


def test_the_overview_lists_everything_in_the_order_of_get_resources(served):
    put_node(served)
    served.apply(a_document(), a_document(name="a-first"))
    page = see(served, "/ui")
    assert [row[:3] for row in page.cells if "/" in row[0]] == [
        ["pool/local", "Unknown", "-"],
        ["node/node-a", "Unknown", "-"],
        ["bundle/a-first", "Unknown", "-"],
        ["bundle/ch-1", "Unknown", "-"],
    ]
    assert "4 of 4 resources are not ready." in page.words
    assert "rmctl why pool/local" in page.words
    assert {"/ui/pool/local", "/ui/bundle/ch-1"} <= set(page.links)
    assert all(link.startswith("/") for link in page.links), "nothing comes from elsewhere"


def test_the_page_of_a_resource_has_all_that_is_on_record(served):
    served.apply(a_document(labels={"app": "tv"}))
    page = see(served, "/ui/bundle/ch-1")
    assert "bundle/ch-1 has not been looked at since it was last changed." in page.words
    for title in ("Conditions", "Events, newest first", "Spec", "Status", "Metadata"):
        assert title in page.words
    assert '"pool": "local"' in page.words
    assert ["0s", "Normal", "AuditAppended"] in [row[:3] for row in page.cells]


def test_what_is_not_there_is_told_on_a_page(served):
    assert 'bundle "nowhere": not found' in see(served, "/ui/bundle/nowhere", 404).words
    assert 'there is no kind "bundel"' in see(served, "/ui/bundel/x", 404).words


def test_every_page_is_json_for_who_asks(served):
    served.apply(a_document())
    overview = served.client.get("/ui").json()
    assert (overview["kind"], [one["name"] for one in overview["entries"]]) == (
        "Overview",
        ["pool/local", "bundle/ch-1"],
    )
    detail = served.client.get("/ui/bundle/ch-1", headers={"Accept": "application/json"}).json()
    assert (detail["kind"], detail["document"]["metadata"]["name"]) == ("Detail", "ch-1")
    refused = served.client.get("/ui/bundle/nowhere")
    assert (refused.status_code, refused.json()["reason"]) == (404, "NotFound")


def test_hostile_texts_stay_texts(served):
    text = "<script>alert(1)</script> \u202egnp \x1b[31m"
    served.apply(a_document(annotations={"note": text}, spec={**a_document()["spec"]}))
    answer = served.client.get("/ui/bundle/ch-1", headers=HTML)
    assert "<script>alert" not in answer.text
    assert Page(answer.text).wrong == []
    assert not {"\x1b", "\u202e"} & set(answer.text)
    assert "\\u202egnp" in answer.text


def test_the_headers_allow_nothing_but_the_page(served):
    for path in ("/ui", "/ui/static/style.css", "/ui/static/live.js", "/ui/bundle/nowhere"):
        headers = served.client.get(path, headers=HTML).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
        assert headers["cache-control"] == "no-store"
    assert served.client.get("/ui/static/..%2f..%2fdoor.py").status_code == 404
    assert served.client.get("/ui/static/layout.html").status_code == 404


def test_an_address_is_good_once_and_leaves_a_cookie_that_reads(served):
    address = address_of_a_page(served, "/ui/pool/local")
    base = f"http://127.0.0.1:{served.port}"
    with httpx.Client(headers=HTML) as browser:
        first = browser.get(address)
        assert (first.status_code, first.headers["location"]) == (303, "/ui/pool/local")
        cookie = first.headers["set-cookie"]
        assert {"HttpOnly", "Path=/ui", "SameSite=strict"} <= set(cookie.split("; "))
        assert browser.get(f"{base}/ui/pool/local").status_code == 200
        assert browser.get(address).status_code == 303  # it has a cookie already
        assert browser.post(f"{base}/ui").status_code == 401
        secret = cookie.partition("=")[2].partition(";")[0]
        for path in (f"{API}/pools", f"{API}/server/stop", "/metrics"):
            sent = {"Cookie": f"rmctl-page-{served.port}={secret}", "Authorization": f"Bearer {secret}"}
            assert httpx.get(f"{base}{path}", headers=sent).status_code == 401
    stranger = httpx.get(address, headers=HTML)
    assert (stranger.status_code, "has been used" in stranger.text) == (401, True)
    assert Page(stranger.text).wrong == []


def test_without_a_token_there_is_a_page_that_says_how(served):
    answer = httpx.get(f"http://127.0.0.1:{served.port}/ui", headers=HTML)
    assert (answer.status_code, "rmctl open" in answer.text) == (401, True)
    assert httpx.get(f"http://127.0.0.1:{served.port}/ui/static/style.css").status_code == 200
    assert httpx.get(f"http://127.0.0.1:{served.port}/ui", headers={"Authorization": f"Bearer {TOKEN}"}).is_success


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Host": "127.0.0.1:9"}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "[::1]:9"}, 200),
        ({"Host": "rebound.example"}, 403),
        ({"Host": "127.0.0.1.rebound.example:9"}, 403),
        ({"Host": "manager.example:9"}, 200),
        ({"Host": "localhost", "Origin": "http://localhost"}, 200),
        ({"Host": "localhost", "Origin": "http://localhost:8"}, 403),
        ({"Host": "localhost", "Origin": "null"}, 403),
    ],
)
def test_pages_are_given_under_the_servers_own_names_alone(headers, code):
    with serving(hosts=("manager.example",)) as served:
        sent = {**headers, "Authorization": f"Bearer {TOKEN}"}
        answer = httpx.get(f"http://127.0.0.1:{served.port}/ui", headers=sent)
        assert answer.status_code == code
        again = httpx.get(f"http://127.0.0.1:{served.port}/ui?token=x", headers=headers)
        assert again.status_code == (403 if code == 403 else 401)


def test_a_proxy_to_the_socket_has_callers_of_its_own(served):
    """What comes through it is nobody before it has shown something, whoever runs the proxy."""
    through = {"Rmctl-Door": "listener", "Host": "127.0.0.1:5"}
    assert served.client.get("/ui", headers=through).status_code == 401
    assert served.client.get(f"{API}/bundles", headers=through).status_code == 401
    assert served.client.get(f"{API}/bundles").status_code == 200


@pytest.mark.parametrize(
    ("amounts", "parts"),
    [
        ((4, 4, 1), (Part("claimed", 0.0, 60.0), Part("free", 60.0, 180.0))),
        ((4, 3, 1), (Part("claimed", 0.0, 60.0), Part("free", 60.0, 120.0), Part("kept", 180.0, 60.0))),
        ((4, 4, 4), (Part("claimed", 0.0, 240.0),)),
        ((4, 2, 3), (Part("claimed", 0.0, 180.0), Part("kept", 180.0, 60.0))),
        ((2, 2, 3), (Part("claimed", 0.0, 240.0),)),
        ((0, 0, 0), (Part("kept", 0.0, 240.0),)),
    ],
)
def test_a_bar_is_as_long_as_the_node(amounts, parts):
    drawn = bar(*amounts, "x")
    assert drawn.parts == parts
    assert sum(part.width for part in drawn.parts) == drawn.width


def test_another_project_has_its_own_lines(served):
    served.apply(a_document(), a_document(name="elsewhere", project="blue"))
    assert [row[0] for row in see(served, "/ui?project=blue").cells if "/" in row[0]] == [
        "pool/local",
        "bundle/elsewhere",
    ]
    assert "bundle/elsewhere" in see(served, "/ui/bundle/elsewhere?project=blue").words
    assert "bundle/ch-1" not in see(served, "/ui?project=blue").words
    assert served.client.get("/ui", params={"project": "A b"}).status_code == 400


@pytest.mark.parametrize("body", [[], {"x": 1}, {"ttlSeconds": 0}, {"ttlSeconds": "1"}, {"ttlSeconds": 10**9}])
def test_bad_requests_for_an_address_are_refused(served, body):
    assert served.client.post(f"{API}/tokens/pages", json=body).status_code == 400
