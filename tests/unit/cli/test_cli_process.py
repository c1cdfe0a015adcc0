"""rmctl as a process: what it loads, how it ends, and what it says when nobody answers."""

from __future__ import annotations

import gc
import json
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.flags import split
from cli.main import main
from cli.session import Session
from cli.verbs import VERBS, overview
from cli.views.registry import OWN
from tests.cli_objects import a_running_job, the_demo
from tests.cli_runs import Ran, Rmctl
from tests.fake_api import Answer, FakeApi, Request, status

RMCTL = (sys.executable, "-m", "cli.main")
HEAVY = (
    "sqlalchemy",
    "alembic",
    "grpc",
    "google",
    "pydantic",
    "boto3",
    "oci",
    "rich",
    "ruamel",
    "starlette",
    "uvicorn",
)


def run(api: FakeApi, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RMCTL, "--server", api.address, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "words",
    [
        "get resources",
        "get job/hello/primary/web",
        "get nodes -o json",
        "describe job/hello/primary/web",
        "why job/hello/primary/web",
        "wait job/hello/primary/web",
        "logs hello/primary/web",
        "events",
        "start hello/primary/web",
        "apply -f FILE",
        "plan -f FILE",
        "delete job hello/primary/web --wait=false",
        "server status",
        "version",
        "nosuch",
    ],
)
def test_a_client_verb_loads_no_library_that_it_does_not_need(api: FakeApi, tmp_path: Path, words: str) -> None:
    (tmp_path / "file.json").write_text('{"kind": "pool", "metadata": {"name": "a"}}', encoding="utf-8")
    for plural, items in the_demo().items():
        api.lists(plural, *items)
    for path in ("effects", "events", "server"):
        api.on(f"GET {path}", Answer({"items": []}))
    api.on("GET /apis/rmctl/v1", Answer({"resources": []}))
    api.on("GET /version", Answer({"gitVersion": "v0.1.0"}))
    api.on("GET jobs/hello.primary.web/why", Answer({"sentence": "", "sections": []}))
    api.on("GET jobs/hello.primary.web/log", Answer("x\n"))
    for method in ("PATCH", "DELETE"):
        api.on(f"{method} jobs/hello.primary.web", Answer({}))
    for path in ("batch", "plan"):
        api.on(f"POST {path}", Answer({"items": []}))
    code = "import sys; from cli.main import main; c = main(sys.argv[1:]); print(c, *sys.modules, file=sys.stderr)"
    line = [*words.replace("FILE", str(tmp_path / "file.json")).split()]
    ran = subprocess.run(
        [sys.executable, "-c", code, "--server", api.address, *line], capture_output=True, text=True, check=True
    )
    ended, *modules = ran.stderr.splitlines()[-1].split()
    assert ended == ("2" if words == "nosuch" else "0"), ran.stderr
    assert [name for name in modules if name.partition(".")[0] in HEAVY] == []


@pytest.mark.parametrize(("plural", "most"), [("pools", 32), ("resources", 38)])
def test_get_pays_for_its_own_modules_and_no_others(api: FakeApi, plural: str, most: int) -> None:
    """What B12 measures: beside its floor of libraries only modules of our own, as few as the kinds shown need."""
    for name, items in the_demo().items():
        api.lists(name, *items)
    api.on("GET /apis/rmctl/v1", Answer({"resources": [{"name": name, "kind": name[:-1]} for name in the_demo()]}))
    code = (
        "import sys, typer, http.client, json; floor = set(sys.modules); from cli.main import main; "
        "c = main(sys.argv[1:]); print(c, *sorted(set(sys.modules) - floor), file=sys.stderr)"
    )
    line = [sys.executable, "-c", code, "--server", api.address, "get", plural]
    ended, *modules = subprocess.run(line, capture_output=True, text=True, check=True).stderr.splitlines()[-1].split()
    shown = {name for name in modules if name.startswith("cli.views.")} & {f"cli.views.{kind}" for kind in OWN}
    kinds = ("pool",) if plural == "pools" else ("pool", "node", "bundle", "job")
    assert (ended, shown) == ("0", {f"cli.views.{kind}" for kind in kinds})
    ours = [name for name in modules if name.partition(".")[0] in ("cli", "resources")]
    assert set(modules) - {*ours, "__future__", "gc", "typer._click.decorators"} == set()
    assert len(ours) <= most, ours


def test_garbage_is_looked_for_as_before_once_a_call_has_ended() -> None:
    before = gc.get_threshold()
    assert (main(["--version"]), gc.get_threshold()) == (0, before)


def test_the_version_loads_nothing_at_all(tmp_path: Path) -> None:
    code = "import sys; from cli.main import main; main(['--version']); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, modules = ran.stdout.splitlines()
    assert (first, "typer" in modules.split()) == ("rmctl 0.1.0", False)


@pytest.mark.parametrize("name", sorted(VERBS))
def test_every_verb_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert f"rmctl {name}" in capsys.readouterr().out


def test_help_alone_is_the_overview(capsys: pytest.CaptureFixture[str]) -> None:
    assert {main([]), main(["--help"]), main(["-h"])} == {0}
    assert capsys.readouterr().out == (overview() + "\n") * 3


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("git", 'unknown verb "git" (did you mean get?)'),
        ("get --frobnicate jobs", "no such option: --frobnicate"),
        ("get events", "events have a verb of their own"),
        ("get", "missing argument 'KIND [NAME]...'"),
        ("get nosuchkind", 'unknown kind "nosuchkind"'),
        ("get resources hello", "resources: takes no names; write KIND NAME or KIND/NAME"),
        (
            "config frob",
            (
                'config: "frob": one of token, certificate, users, revoke, authority, kubeconfig, '
                "contexts, add, use, remove"
            ),
        ),
        ("logs a/primary/b --tail x", "invalid value for '--tail': 'x' is not a whole number"),
        ("logs a/primary/b -o yaml", '-o "yaml": this verb has no -o'),
        ("get bundls", 'unknown kind "bundls" (did you mean bundles?)'),
        ("get jobs -o xml", '-o "xml": one of wide, json, yaml, name, jsonpath'),
        ("get jobs -o jsonpath", "-o jsonpath=EXPRESSION, for example -o jsonpath={.status.pid}"),
        ("get jobs -o jsonpath={.a", "jsonpath: a { that is not closed"),
        ("get jobs -p Not_A_Name", 'project name "Not_A_Name": must match [a-z0-9]([-a-z0-9]*[a-z0-9])?'),
        ("wait bundle/a --timeout -1", 'duration "-1": write it as 90s, 10m or 1h30m, above zero and at most 366d'),
        (
            "wait bundle/a --for=x",
            '--for "x": one of Ready, delete, condition=TYPE[=STATUS], jsonpath=EXPRESSION[=VALUE]',
        ),
        ("apply -f nosuch.json", "nosuch.json: no such file"),
        ("apply -f . --dry-run=maybe", '--dry-run "maybe": one of client, server'),
        ("--frob", "--frob: a verb is needed"),
        ("pause server", "pause server needs --reason: it is kept in the audit"),
        ("start bundle/hello", "bundle/hello: a job is needed, as BUNDLE/ROLE/JOB or BUNDLE/JOB"),
        ("exec node/a -- true", "node/a: a job is needed, as BUNDLE/ROLE/JOB or BUNDLE/JOB"),
        ("logs node/a", "node/a: a job is needed, as BUNDLE/ROLE/JOB or BUNDLE/JOB"),
        ("get jobs --sort-by .nope", '--sort-by ".nope": none of these has it'),
        ("patch bundle/hello --type=json -p {", "--patch:1:2: unexpected end of JSON"),
    ],
)
@pytest.mark.req("S20", "B86", "B79")
def test_what_cannot_be_taken_is_2_and_one_line(api: FakeApi, rmctl: Rmctl, words: str, line: str) -> None:
    api.lists("jobs", a_running_job("a/primary/b", "n", 1))
    api.on("GET /apis/rmctl/v1", Answer({"resources": []}))
    ran = rmctl(*words.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[0] == f"rmctl: error: {line}"
    assert all(extra.startswith("hint: ") for extra in ran.err.splitlines()[1:])


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("node token", "rmctl node token --help"),
        ("effects resolve", "rmctl effects resolve --help"),
        ("config frob", "rmctl config --help"),
        ("get --frob", "rmctl get --help"),
        ("get nosuchkind", "rmctl api-resources lists the kinds"),
        ("restart shop", "a name goes behind its kind, such as bundle/shop"),
    ],
)
def test_the_hint_names_the_page_that_helps(api: FakeApi, rmctl: Rmctl, words: str, hint: str) -> None:
    api.on("GET /apis/rmctl/v1", Answer({"resources": []}))
    assert rmctl(*words.split()).err.splitlines()[1:] == [f"hint: {hint}"]


@pytest.mark.parametrize("words", ["--help", "--version", "api-resources --help", "nosuch"])
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_stream_that_was_closed_before_the_start_is_no_mistake(words: str, closed: str) -> None:
    line = ["sh", "-c", f'exec "$0" -m rmctl {words} {closed}', sys.executable]
    ran = subprocess.run(line, check=False, capture_output=True, text=True, timeout=60)
    assert ran.returncode == (2 if words == "nosuch" else 0)
    assert "Traceback" not in ran.stderr + ran.stdout


def test_a_full_disk_behind_stdout_is_the_machines_doing() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        line = [sys.executable, "-m", "rmctl", "--help"]
        ran = subprocess.run(line, check=False, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (5, "rmctl: error: cannot write: No space left on device\n")


@pytest.mark.req("S20", "B91", "B92", "B93", "B102")
@pytest.mark.parametrize(
    ("answer", "code", "line"),
    [
        (status(404, "NotFound", 'pool "a": not found'), 3, '(NotFound) pool "a": not found'),
        (
            status(409, "Conflict", 'pool "a": changed since you read it (have 7, now 9)'),
            3,
            '(Conflict) pool "a": changed since you read it (have 7, now 9)',
        ),
        (status(403, "Forbidden", "the verb delete is missing"), 3, "(Forbidden) the verb delete is missing"),
        (status(401, "Unauthorized", "not let in"), 3, "(Unauthorized) not let in"),
        (status(400, "BadRequest", "selector: column 4: …"), 2, "(BadRequest) selector: column 4: …"),
        (status(500, "InternalError", "broken"), 1, "(InternalError) broken"),
        (Answer("<html>", 200), 4, "what answers at ADDRESS is no rmctl server: the answer is no JSON object"),
    ],
)
def test_a_refusal_keeps_its_words_and_has_its_code(
    api: FakeApi, rmctl: Rmctl, answer: Answer, code: int, line: str
) -> None:
    api.on("GET pools/a", answer)
    ran = rmctl("get", "pool/a")
    assert ran == Ran(code, "", f"rmctl: error: {line}\n".replace("ADDRESS", api.address))


@pytest.mark.req("S20", "B40")
@pytest.mark.parametrize(
    "words", ["get pool/a -o json", "get nosuch -ojson", "git --output=json", "wait pool/a --timeout 0 -o json"]
)
def test_errors_are_json_too_when_json_is_asked_for(api: FakeApi, rmctl: Rmctl, words: str) -> None:
    api.on("GET pools/a", status(409, "Conflict", "changed \x1b[31m\u202e"))
    api.on("GET /apis/rmctl/v1", Answer({"resources": []}))
    ran = rmctl(*words.split())
    document = json.loads(ran.out)
    assert (document["kind"], document["status"], document["details"]["exitCode"]) == ("Status", "Failure", ran.code)
    assert ran.err.startswith("rmctl: error: ")
    assert ran.out.replace("\n", "").isprintable()
    assert ran.err.replace("\n", "").isprintable()


@pytest.mark.req("B89", "S20")
def test_nobody_there_is_4_with_the_address(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = f"unix:{tmp_path}/no.sock"
    assert main(["--server", address, "get", "pools"]) == 4
    assert capsys.readouterr().err == (
        f"rmctl: error: no server answers at {address}: no such file or directory\n"
        "hint: start one with `rmctl server`, or name it with --server or RMCTL_SERVER\n"
    )


@contextmanager
def answering(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server on loopback that speaks with each caller as told."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    caller, _ = listener.accept()
                except OSError:
                    return
                with caller:
                    talk(caller)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.req("B89", "B103")
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (b"\x15\x03\x01\x00\x02\x02\x46", "http://ADDRESS: the server expects TLS"),
        (
            b"SSH-2.0-OpenSSH\r\n",
            "what answers at http://ADDRESS is no rmctl server: it does not speak HTTP (SSH-2.0-OpenSSH)",
        ),
        (b"", "the connection to http://ADDRESS was lost before the answer: "),
    ],
)
def test_what_is_no_server_of_ours_is_4(words: bytes, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    def talk(caller: socket.socket) -> None:
        caller.recv(1000)
        caller.sendall(words)

    with answering(talk) as address:
        assert main(["--server", address, "get", "pools"]) == 4
    assert capsys.readouterr().err.startswith(f"rmctl: error: {line}".replace("ADDRESS", address))


@pytest.mark.req("B103")
def test_tls_to_a_plain_port_is_4(capsys: pytest.CaptureFixture[str]) -> None:
    def talk(caller: socket.socket) -> None:
        caller.recv(1000)
        caller.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with answering(talk) as address:
        assert main(["--server", f"https://{address}", "get", "pools"]) == 4
    told = capsys.readouterr().err
    assert told in (
        f"rmctl: error: https://{address}: the server speaks plain HTTP\n",
        f"rmctl: error: https://{address}: the server speaks plain HTTP ({ssl.OPENSSL_VERSION})\n",
    )


@pytest.mark.req("B89")
def test_a_server_of_a_version_too_far_apart_is_4_with_both(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("GET pools", Answer({"items": []}, headers={"Rmctl-Version": "3.1.4"}))
    assert rmctl("get", "pools") == Ran(
        4, "", f"rmctl: error: the server at {api.address} is version 3.1.4, this is rmctl 0.1.0: too far apart\n"
    )


def test_warnings_of_the_server_are_told(api: FakeApi, rmctl: Rmctl) -> None:
    answer = Answer({"items": []}, headers={"Warning": '299 - "metadata.uid is ignored"'})
    api.on("GET pools", answer)
    assert rmctl("get", "pools").err == "rmctl: warning: metadata.uid is ignored\nno pools\n"


@pytest.mark.req("B82")
def test_a_closed_pipe_ends_quietly(api: FakeApi) -> None:
    api.lists("jobs", *(a_running_job(f"b{n}/primary/j", "node-a", n, "x" * 100) for n in range(2000)))
    whole = " ".join([*RMCTL, "--server", api.address, "get", "jobs"])
    script = f"set -o pipefail; {whole} | head -1"
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("NAME ")


@pytest.mark.req("B85")
@pytest.mark.parametrize("words", ["get jobs -w", "logs a/primary/b -f", "wait job/a/primary/b", "events -w"])
def test_ctrl_c_is_130_and_one_line(api: FakeApi, words: str) -> None:
    """The watch goes on until the test ends it; the signal comes when the server has been asked for it."""
    asked, over = threading.Event(), threading.Event()

    def hold(request: Request) -> Answer:
        if request.query.get("watch") or request.query.get("follow"):
            asked.set()
            over.wait()
        return Answer(
            {"metadata": {"resourceVersion": "7"}, "items": [a_running_job("a/primary/b", "n", 1) | {"status": {}}]}
        )

    for path in ("jobs", "jobs/a.primary.b/log", "events"):
        api.on(f"GET {path}", hold)
    line = [*RMCTL, "--server", api.address, *words.split()]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        asked.wait()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    over.set()
    assert (process.returncode, err.splitlines()[-1]) == (130, "rmctl: interrupted")
    assert "Traceback" not in err


def test_a_mistake_of_our_own_is_one_line(tmp_path: Path) -> None:
    """A file that cannot be where the contexts are: what nobody foresaw shows no traceback."""
    code = (
        "import sys; from cli.main import main; import cli.flags; del cli.flags.split; sys.exit(main(['get', 'jobs']))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, len(ran.stderr.splitlines())) == (1, "", 2)
    assert ran.stderr.startswith("rmctl: error: ImportError: ")


@pytest.mark.req("B90")
def test_a_contexts_file_names_servers_and_is_kept_private(
    api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.toml"
    text = f'current-context = "here"\n[contexts.here]\nserver = "{api.address}"\nproject = "news"\ntoken = "s3cret"\n'
    path.write_text(text, encoding="utf-8")
    monkeypatch.setenv("RMCTL_CONFIG", str(path))
    api.on("GET /apis/rmctl/v1/namespaces/news/jobs", Answer({"items": []}))
    path.chmod(0o644)
    assert main(["get", "jobs"]) == 0
    assert capsys.readouterr().err == (
        f"rmctl: warning: {path} holds a token and others can read it; chmod 600 it\nno jobs in project news\n"
    )
    path.chmod(0o600)
    assert main(["get", "jobs"]) == 0
    assert capsys.readouterr().err == "no jobs in project news\n"
    assert main(["get", "jobs", "--context", "there"]) == 2
    assert capsys.readouterr().err == f'rmctl: error: {path} has no context "there"\n'


def test_the_default_server_is_the_socket_in_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RM_DATA", str(tmp_path / "data"))
    assert main(["get", "pools"]) == 4
    assert f"unix:{tmp_path}/data/rmctl.sock" in capsys.readouterr().err
    monkeypatch.setenv("RMCTL_SERVER", f"unix:{tmp_path}/other.sock")
    assert main(["get", "pools"]) == 4
    assert f"unix:{tmp_path}/other.sock" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "token"),
    [
        ("get pools", "s3cret"),
        ("--server https://manager.example:7443 get pools", "s3cret"),
        ("--server other.example:7443 get pools", None),
        ("--context office --server other.example:7443 get pools", "s3cret"),
    ],
)
def test_what_a_context_holds_is_shown_to_its_own_server_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, token: str | None
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        'current-context = "office"\n[contexts.office]\nserver = "https://manager.example:7443"\ntoken = "s3cret"\n'
    )
    path.chmod(0o600)
    monkeypatch.setenv("RMCTL_CONFIG", str(path))
    assert Session(split(words.split())[0]).client.access.token == token
