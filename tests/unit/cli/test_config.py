"""`rmctl config` and `rmctl open`: what they send, write and print."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from cli.contexts import Context, find_context
from cli.opening import _proxy
from tests.cli_objects import ago
from tests.cli_runs import Rmctl
from tests.fake_api import Answer, FakeApi, status

USERS = "tokens/users"
PEM = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"


def issued(**more: Any) -> Answer:
    return Answer({"kind": "UserToken", "name": "ana", "role": "viewer", "token": "t0ken", **more}, 201)


def the_kubeconfig(text: str) -> dict[str, Any]:
    found = YAML(typ="safe", pure=True).load(text)
    assert isinstance(found, dict)
    return found


def test_a_token_is_printed_and_nothing_else(api: FakeApi, rmctl: Rmctl) -> None:
    api.on(f"POST {USERS}", issued())
    assert rmctl("config", "token", "ana", "--role", "viewer", "--ttl", "2h") == (0, "t0ken\n", "")
    (sent,) = api.sent("POST", USERS)
    assert sent.body == {"name": "ana", "role": "viewer", "certificate": False, "ttlSeconds": 7200.0}
    assert json.loads(rmctl("config", "token", "ana", "--role", "viewer", "-o", "json").out)["token"] == "t0ken"


def test_a_role_is_needed(rmctl: Rmctl) -> None:
    ran = rmctl("config", "token", "ana")
    assert (ran.code, "--role" in ran.err) == (2, True)


def test_a_refusal_is_exit_3(api: FakeApi, rmctl: Rmctl) -> None:
    text = 'operator "ben" may not issue tokens: that takes the role admin'
    api.on(f"POST {USERS}", status(403, "Forbidden", text))
    ran = rmctl("config", "token", "ana", "--role", "admin")
    assert (ran.code, ran.err) == (3, f"rmctl: error: (Forbidden) {text}\n")


def test_a_certificate_goes_into_a_file_of_ones_own(api: FakeApi, rmctl: Rmctl, tmp_path: Path) -> None:
    api.on(f"POST {USERS}", issued(certificate=PEM, key="KEY\n"))
    path = tmp_path / "ana.pem"
    assert rmctl("config", "certificate", "ana", "--role", "viewer", "--to", str(path)).code == 0
    assert (path.read_text(), path.stat().st_mode & 0o777) == (f"KEY\n{PEM}", 0o600)
    again = rmctl("config", "certificate", "ana", "--role", "viewer", "--to", str(path))
    assert (again.code, "there is a file already" in again.err) == (2, True)
    assert len(api.sent("POST", USERS)) == 1


def test_users_are_listed_and_revoked(api: FakeApi, rmctl: Rmctl) -> None:
    one = {"name": "ana", "role": "viewer", "shows": "token", "createdAt": ago(0)}
    api.on(f"GET {USERS}", Answer({"items": [one]}))
    api.on(f"DELETE {USERS}/ana", Answer({"status": "Success"}))
    header, row = rmctl("config", "users").out.splitlines()
    assert header.split() == ["NAME", "ROLE", "SHOWS", "AGE", "ENDS"]
    assert (row.split()[:3], row.split()[-1]) == (["ana", "viewer", "token"], "-")
    assert rmctl("config", "revoke", "ana").out == "ana revoked\n"


@pytest.mark.parametrize(
    ("listeners", "server"),
    [
        (["unix:/x", "http://127.0.0.1:7077", "https://127.0.0.1:7443"], "https://127.0.0.1:7443"),
        (["unix:/x", "http://127.0.0.1:7077"], "http://kubectl:t0ken@127.0.0.1:7077"),
        (["unix:/x", "https://0.0.0.0:7443"], f"https://{os.uname().nodename}:7443"),
    ],
)
def test_a_kubeconfig_has_all_that_kubectl_needs(api: FakeApi, rmctl: Rmctl, listeners: list[str], server: str) -> None:
    api.on("GET server", Answer({"listeners": listeners}))
    api.on(f"POST {USERS}", issued())
    if server.startswith("https"):
        api.on("GET server/authority", Answer({"pem": PEM, "sha256": "0"}))
    found = the_kubeconfig(rmctl("-p", "blue", "config", "kubeconfig").out)
    assert found["current-context"] == "rmctl"
    assert found["contexts"][0]["context"] == {"cluster": "rmctl", "user": "kubectl", "namespace": "blue"}
    cluster, user = found["clusters"][0]["cluster"], found["users"][0]["user"]
    assert cluster["server"] == server
    if server.startswith("https"):
        assert base64.b64decode(cluster["certificate-authority-data"]).decode() == PEM
        assert (cluster["tls-server-name"], user) == ("server.rmctl", {"token": "t0ken"})


def test_without_a_listener_there_is_no_kubeconfig(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("GET server", Answer({"listeners": ["unix:/x"]}))
    ran = rmctl("config", "kubeconfig")
    assert (ran.code, ran.out, "rmctl server --http" in ran.err) == (5, "", True)
    assert api.sent("POST", USERS) == []


def test_contexts_are_kept_used_and_listed(rmctl: Rmctl, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret\n")
    first = ("config", "add", "office", "--address", "https://manager.example:7443")
    ran = rmctl(*first, "--token-file", str(tmp_path / "token"), "--authority", "ca.pem")
    assert (ran.code, ran.out.endswith(", and it is the current one\n")) == (0, True)
    ran = rmctl("config", "add", "here", "--address", "unix:/run/x.sock", "--default-project", "blue")
    assert (ran.code, "the current one" in ran.out) == (0, False)
    path = Path(os.environ["RMCTL_CONFIG"])
    assert path.stat().st_mode & 0o777 == 0o600
    assert find_context(None) == Context(
        "https://manager.example:7443", None, "s3cret", str(Path("ca.pem").absolute()), None
    )
    assert rmctl("config", "use", "here").code == 0
    assert find_context(None) == Context("unix:/run/x.sock", "blue")
    rows = [line.split() for line in rmctl("config", "contexts").out.splitlines()[1:]]
    assert rows == [["*", "here", "unix:/run/x.sock", "blue"], ["office", "https://manager.example:7443", "-"]]
    listed = rmctl("config", "contexts", "-o", "json")
    assert [(one["name"], one["current"]) for one in json.loads(listed.out)["items"]] == [
        ("here", True),
        ("office", False),
    ]
    assert "s3cret" not in listed.out
    assert rmctl("config", "use", "nowhere").code == 2
    assert (rmctl("config", "use", "local").code, find_context(None)) == (0, Context())
    assert (rmctl("config", "use", "here").code, rmctl("config", "remove", "here").code) == (0, 0)
    assert (find_context(None), rmctl("config", "remove", "here").code) == (Context(), 2)
    assert [one["name"] for one in json.loads(rmctl("config", "contexts", "-o", "json").out)["items"]] == ["office"]
    assert rmctl("config", "add", "x", "--address", "host:99999").code == 2


def test_an_empty_token_file_is_no_token(rmctl: Rmctl, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n")
    ran = rmctl("config", "add", "x", "--address", "h:1", "--token-file", str(tmp_path / "token"))
    assert (ran.code, ran.err) == (2, f"rmctl: error: --token-file {tmp_path / 'token'}: is empty\n")
    assert not Path(os.environ["RMCTL_CONFIG"]).exists()


def test_open_refuses_what_names_no_page(api: FakeApi, rmctl: Rmctl) -> None:
    ran = rmctl("open", "bundle")
    assert (ran.code, "expected KIND/NAME" in ran.err) == (2, True)
    ran = rmctl("open", "--port", "99999")
    assert (ran.code, api.sent("POST", "tokens/pages")) == (2, [])


def test_the_proxy_passes_on_pages_alone(api: FakeApi) -> None:
    import threading

    import httpx

    from cli.address import parse_address

    api.on("GET /ui", Answer("<p>page", headers={"Set-Cookie": "a=b", "Location": "/ui", "X-Other": "no"}))
    with _proxy(parse_address(api.address), 0) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        base = f"http://127.0.0.1:{proxy.server_address[1]}"
        page = httpx.get(f"{base}/ui")
        codes = [httpx.get(f"{base}{path}").status_code for path in ("/apis", "/uix", "/metrics", "/ui/nowhere")]
        posted = httpx.post(f"{base}/ui").status_code
        proxy.shutdown()
    assert (page.text, page.headers["set-cookie"], "x-other" in page.headers) == ("<p>page", "a=b", False)
    assert (codes, posted) == ([404, 404, 404, 404], 501)
    assert [one.path for one in api.requests] == ["/ui", "/ui/nowhere"]
