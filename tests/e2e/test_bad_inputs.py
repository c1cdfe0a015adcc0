"""Bad inputs through the installed rmctl and over the raw wire: each gets its answer, and nothing of it is stored."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest

from cli.client import UnixConnection
from tests.cli_runs import Ran
from tests.fleet import Fleet, a_fleet
from tests.stored import PASSING, tables

BATCH = "/apis/rmctl/v1/batch"
ROOT = "/apis/rmctl/v1"
JOB: dict[str, Any] = {
    "jobName": "web",
    "command": ["true"],
    "requirements": {"requiredCapacity": 1, "onRuntimeFailure": "avoidSpare"},
}
UNPRINTED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with a_fleet() as made:
        made.server()
        assert made.rmctl("wait", "pool/default", "--for=condition=Ready=False").code == 0
        yield made


@pytest.fixture
def unchanged(fleet: Fleet) -> Iterator[None]:
    """Whatever the test does, every table is as it was before."""
    before = tables(fleet.folder, but=PASSING)
    yield
    assert tables(fleet.folder, but=PASSING) == before


class Answer(NamedTuple):
    code: int
    body: dict[str, Any]


def wire(fleet: Fleet, method: str, path: str, data: bytes, media: str = "application/json") -> Answer:
    """One request, byte by byte as given."""
    connection: HTTPConnection = UnixConnection(f"{fleet.folder}/rmctl.sock")
    try:
        connection.request(method, path, data, {"Content-Type": media})
        response = connection.getresponse()
        return Answer(response.status, json.loads(response.read()))
    finally:
        connection.close()


def refused(ran: Ran, code: int, line: str) -> None:
    """One line that says what is wrong, no traceback, no raw control characters, and nothing on stdout."""
    assert (ran.code, ran.out) == (code, ""), ran.err
    first = ran.err.splitlines()[0]
    assert first.startswith("rmctl: error: "), ran.err
    assert line in first
    assert "Traceback" not in ran.err
    assert not UNPRINTED.search(ran.err.replace("\n", "")), repr(ran.err)


def bundle(change: Callable[[dict[str, Any]], None] = lambda document: None) -> dict[str, Any]:
    """A bundle that is refused for nothing but what the test changes."""
    document = {
        "apiVersion": "rmctl/v1",
        "kind": "bundle",
        "metadata": {"name": "bad"},
        "spec": {"pool": "default", "jobs": [copy.deepcopy(JOB)]},
    }
    change(document)
    return document


def put(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    """Sets a field; `job` and `requirements` lead into the first entry."""

    def change(document: dict[str, Any]) -> None:
        job = document["spec"]["jobs"][0]
        place, _, field = path.rpartition(".")
        starts = {"job": job, "requirements": job["requirements"], "": document}
        here: Any = starts.get(place) if place in starts else document
        for step in place.split(".") if place not in starts else ():
            here = here.setdefault(step, {})
        here[field] = value

    return change


# A. Text: the same answer from a file, from stdin and over the wire

TEXTS = [
    pytest.param("", "empty manifest", marks=pytest.mark.req("B1", "B80")),
    pytest.param(" \n\t", "empty manifest", marks=pytest.mark.req("B1")),
    pytest.param('{"kind":"Job"', "unexpected end of JSON", marks=pytest.mark.req("B2")),
    pytest.param("{} {}", "data after the end of the document", marks=pytest.mark.req("B3")),
    pytest.param("[]", "manifest must be an object or a List", marks=pytest.mark.req("B4")),
    pytest.param('"x"', "manifest must be an object or a List", marks=pytest.mark.req("B4")),
    pytest.param("null", "manifest must be an object or a List", marks=pytest.mark.req("B4")),
    pytest.param("42", "manifest must be an object or a List", marks=pytest.mark.req("B4")),
    pytest.param('{"spec":{"replicas":NaN}}', "spec.replicas: NaN is not JSON", marks=pytest.mark.req("B5")),
    pytest.param('{"spec":{"x":-Infinity}}', "spec.x: -Infinity is not JSON", marks=pytest.mark.req("B6")),
    pytest.param('{"spec":{"x":1e400}}', "spec.x: number out of range", marks=pytest.mark.req("B7")),
    pytest.param('{"n":' + "9" * 4301 + "}", "n: integer outside the 64-bit range", marks=pytest.mark.req("B8")),
    pytest.param('{"n":9223372036854775808}', "n: integer outside the 64-bit range", marks=pytest.mark.req("B9")),
    pytest.param('{"a":1,"a":2}', 'a: duplicate key "a"', marks=pytest.mark.req("B10")),
    pytest.param("[" * 1_000_000, "nesting deeper than 64", marks=pytest.mark.req("B14")),
    pytest.param("[" * 990 + "]" * 990, "nesting deeper than 64", marks=pytest.mark.req("B15")),
    pytest.param('{"metadata":{"labels":{"x":"\\ud800"}}}', "not valid Unicode text", marks=pytest.mark.req("B23")),
]


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(("text", "line"), TEXTS)
def test_text_that_is_no_manifest(fleet: Fleet, tmp_path: Path, text: str, line: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    refused(fleet.rmctl("apply", "-f", str(path)), 2, line)
    from_stdin = fleet.rmctl("apply", "-f", "-", stdin=text)
    refused(from_stdin, 2, line.partition(": ")[2] if text.startswith("[" * 100) else line)


OVER_THE_WIRE = [
    pytest.param(b"", marks=pytest.mark.req("B1")),
    pytest.param(b'{"kind":"Job"', marks=pytest.mark.req("B2")),
    pytest.param(b"{} {}", marks=pytest.mark.req("B3")),
    pytest.param(b"[]", marks=pytest.mark.req("B4")),
    pytest.param(b'{"metadata":{"name":"x"},"spec":{"replicas":NaN}}', marks=pytest.mark.req("B5")),
    pytest.param(b'{"spec":{"x":1e400}}', marks=pytest.mark.req("B7")),
    pytest.param(b'{"n":' + b"9" * 4301 + b"}", marks=pytest.mark.req("B8")),
    pytest.param(b'{"n":9223372036854775808}', marks=pytest.mark.req("B9")),
    pytest.param(b'{"a":1,"a":2}', marks=pytest.mark.req("B10")),
    pytest.param(b"[" * 1_000_000, marks=pytest.mark.req("B14")),
    pytest.param(b"[" * 990 + b"]" * 990, marks=pytest.mark.req("B15")),
    pytest.param('{"kind":"bundle"}'.encode("utf-16"), marks=pytest.mark.req("B22")),
    pytest.param(b'{"metadata":{"labels":{"x":"\\ud800"}}}', marks=pytest.mark.req("B23")),
    pytest.param(b'{"metadata":{"name":"\xff\xfe"}}', marks=pytest.mark.req("B24")),
]


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("data", OVER_THE_WIRE)
@pytest.mark.parametrize("path", [BATCH, f"{ROOT}/namespaces/default/bundles", f"{ROOT}/tokens", f"{ROOT}/plan"])
def test_bytes_that_are_no_request(fleet: Fleet, data: bytes, path: str) -> None:
    answer = wire(fleet, "POST", path, data)
    assert answer.code in (400, 422), answer
    assert (answer.body["kind"], answer.body["status"]) == ("Status", "Failure")
    assert not UNPRINTED.search(json.dumps(answer.body, ensure_ascii=False))


@pytest.mark.req("B17", "B20")
@pytest.mark.usefixtures("unchanged")
def test_what_is_too_large_is_told_its_limit(fleet: Fleet, tmp_path: Path) -> None:
    document = bundle(put("metadata.annotations", {}))
    document["spec"]["x"] = ""
    spare = 1024 * 1024 + 1 - len(json.dumps(document["spec"], separators=(",", ":")))
    document["spec"]["x"] = "y" * spare
    path = tmp_path / "large.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    refused(fleet.rmctl("apply", "-f", str(path)), 2, "spec is 1048577 bytes, limit is 1048576 (1 MiB)")
    answer = wire(fleet, "POST", f"{ROOT}/namespaces/default/bundles", json.dumps(document).encode())
    assert (answer.code, "spec is 1048577 bytes" in answer.body["message"]) == (422, True)
    huge = wire(fleet, "POST", BATCH, b" " * (5 * 1024 * 1024 + 1))
    assert (huge.code, "1048576 (1 MiB)" in huge.body["message"]) == (413, True)


@pytest.mark.req("B20", "B105")
@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\x0a" + b"\xff" * 5 * 1024 * 1024, grpc.StatusCode.RESOURCE_EXHAUSTED),
        (b"", grpc.StatusCode.INVALID_ARGUMENT),
        (b"\x0a\x02\xff\xfe", grpc.StatusCode.INVALID_ARGUMENT),
        (b"\x12\x02\x08\x01", grpc.StatusCode.INVALID_ARGUMENT),
        (b"\xfa\x3f\x01x", grpc.StatusCode.INVALID_ARGUMENT),
    ],
)
def test_a_stream_that_no_agent_would_open(fleet: Fleet, data: bytes, code: grpc.StatusCode) -> None:
    with grpc.insecure_channel(f"unix:{fleet.folder}/agents.sock") as channel:
        call = channel.stream_stream("/rmctl.agent.v1.Agents/Session")(iter([data]))
        with pytest.raises(grpc.RpcError) as ended:
            list(call)
        assert ended.value.code() is code
    assert fleet.rmctl("get", "pool/default").code == 0


@pytest.mark.req("B21", "B22", "B24", "B25", "B27")
@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        ("bom.json", b"\xef\xbb\xbf{}", "bom.json:1:1: apiVersion: required"),
        ("wide.json", '{"kind":"bundle"}'.encode("utf-16"), "not UTF-8"),
        ("bytes.json", b'{"metadata":{"name":"\xff\xfe"}}', "not UTF-8 at byte 21"),
        ("bomb.yaml", b"a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n", "aliases are not allowed"),
        ("deep.yaml", b"[" * 3000, "nesting deeper than 64"),
        ("twice.yaml", b"kind: bundle\nkind: pool\n", 'kind: duplicate key "kind"'),
        ("tag.yaml", b"kind: !!python/object:os.system x\n", "tags are not allowed"),
    ],
)
def test_files_of_other_kinds(fleet: Fleet, tmp_path: Path, name: str, data: bytes, line: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    refused(fleet.rmctl("apply", "-f", str(path)), 2, line)


# B and C. Documents: the same field, by the file's line and over the wire

NUL, ESC = "a\0b", "\x1b[2J\x1b[31mX"
FIELDS: list[tuple[str, object, str]] = [
    ("metadata.name", "", "metadata.name: required"),
    ("metadata.name", None, "metadata.name: required"),
    ("metadata.name", 5, "metadata.name: expected text"),
    ("metadata.name", "a" * 64, "metadata.name: at most 63 characters"),
    *(
        ("metadata.name", name, "metadata.name: must match [a-z0-9]([-a-z0-9]*[a-z0-9])?")
        for name in ("Job_A", "-a", "a-", "a..b", "a b", NUL, "\uff41\uff42\uff43", "j\u043eb", "a\u00b2", "\u0663")
    ),
    *(
        ("metadata.name", name, "metadata.name: must match")
        for name in ("../../etc/passwd", "a/b", "a%2fb", ".", "..", "x' OR 1=1 --", '"; DROP TABLE resources;--')
    ),
    ("metadata.labels", {"x": ESC}, "metadata.labels.x: "),
    ("metadata.labels", {f"k{n}": "v" for n in range(65)}, "at most 64"),
    ("metadata.labels", {"x": "v" * 64}, "metadata.labels.x: "),
    ("metadata.labels", {"x/": "v"}, "metadata.labels"),
    ("kind", "bundel", 'kind: unknown kind "bundel" (did you mean bundle?)'),
    ("apiVersion", "rmctl/v9", "apiVersion"),
    ("spec.replica", 2, "unknown field spec.replica"),
    ("spec.priority", True, "spec.priority: expected an integer, got boolean"),
    ("spec.priority", 1.0, "spec.priority: expected an integer, got 1.0"),
    ("spec.priority", 100.0, "spec.priority: expected an integer, got 100.0"),
    ("spec.priority", "3", "spec.priority: expected an integer, got text"),
    ("spec.priority", -1001, "spec.priority: must be >= -1000"),
    ("spec.priority", 1_000_000, "spec.priority: must be <= 1000"),
    ("spec.jobs", [{**JOB, "jobName": f"j{n}"} for n in range(65)], "spec.jobs: at most 64"),
    ("job.command", [], "spec.jobs[0].command: expected a non-empty list of texts"),
    ("job.command", "ls -la", "spec.jobs[0].command: expected a list, got text"),
    ("job.command", [""], "spec.jobs[0].command: expected a non-empty list of texts"),
    ("job.command", [1], "spec.jobs[0].command[0]: expected text, got 1"),
    ("job.command", ["echo", NUL], "spec.jobs[0].command[1]: must not contain a null character"),
    ("job.env", {"A": NUL}, "spec.jobs[0].env.A: must not contain a null character"),
    ("job.command", ["x" * 200_000], "spec.jobs[0].command: at most 131072 bytes"),
    ("job.env", {f"N{n}": "" for n in range(60_000)}, "spec.jobs[0].env: at most 131072 bytes"),
    ("job.env", {"RM_EFFECT": "x"}, "names that start with RM_ or NORSK_ are reserved"),
    ("job.env", {"NORSK_X": "x"}, "names that start with RM_ or NORSK_ are reserved"),
    ("job.env", {"A=B": "x"}, 'spec.jobs[0].env: "A=B": must match'),
    *(
        ("job.workingDir", path, "spec.jobs[0].workingDir: must stay inside the job directory")
        for path in ("/etc", "../x", "sub/../../base2", "~", "a\0")
    ),
    ("job.logPath", "../x", "unknown field spec.jobs[0].logPath"),
    ("job.artifacts", ["/etc/passwd"], "unknown field spec.jobs[0].artifacts"),
    ("job.runAs", 0, "spec.jobs[0].runAs: expected text, got 0"),
    ("job.uid", -1, "unknown field spec.jobs[0].uid"),
    *(
        ("requirements.requiredHostPorts", [port], "spec.jobs[0].requirements.requiredHostPorts[0]: ")
        for port in ("0/tcp", "65536/tcp", "80", "1935/tcpx", 80)
    ),
    ("requirements.requiredHostPorts", ["80/tcp", "80/tcp"], '"80/tcp" is named twice'),
    ("requirements.requiredCapacity", -1, "requiredCapacity: must be > 0"),
    ("requirements.requiredCapacity", 0.0000001, "requiredCapacity: at most three decimals"),
    ("requirements.requiredCapacity", 1e30, "requiredCapacity: must be <= 100000"),
    ("requirements.requiredCapacity", "2 cores", "requiredCapacity: expected a number, got text"),
    ("requirements.requiredCapacity", None, "spec.jobs[0].requirements.requiredCapacity: required"),
    *(
        ("requirements.requiredMemoryMiB", amount, "requiredMemoryMiB: expected an integer, got text")
        for amount in ("1.5.Gi", "10XB", "9e99Gi", "-1Mi")
    ),
    ("requirements.maxRestartsPerHour", -1, "maxRestartsPerHour: must be >= 0"),
    ("requirements.maxRestartsPerHour", 10**18, "maxRestartsPerHour: must be <= "),
    ("job.stopGraceSeconds", "5", "stopGraceSeconds: expected a number, got text"),
    ("job.readiness", {"tcp": 80, "periodSeconds": 0}, "readiness.periodSeconds: must be > 0"),
    ("job.coLocateWith", ["web"], "spec.jobs[0].coLocateWith: web → web"),
    ("job.separateFrom", ["web"], "spec.jobs[0].separateFrom: web → web"),
    ("spec.pool", "nosuch", 'spec.pool: no pool "nosuch"'),
    ("job.schedule", {"cron": "61 * * * *"}, 'schedule.cron: "61 * * * *" is no schedule that ever comes'),
    ("job.schedule", {"cron": "* * 31 2 *"}, "schedule.cron: "),
    ("job.schedule", {"cron": "0 4 * * *", "timeZone": "Mars/X"}, '"Mars/X" is no time zone'),
    *(
        ("job.readiness", {"http": url}, "readiness.http: scheme or host not allowed")
        for url in ("file:///etc/passwd", "http://169.254.169.254/x", "http://[::1]:22", "http://0x7f.1/", "gopher://x")
    ),
    ("job.secretEnv", {"A": {"secret": "no", "key": "such"}}, "secret not found: no has no key such"),
    ("job.secretEnv", {"A": "hunter2"}, "spec.jobs[0].secretEnv.A: expected an object"),
]


@pytest.mark.req(
    "B11",
    "B12",
    "B13",
    "B28",
    "B29",
    "B30",
    "B32",
    "B33",
    "B34",
    "B35",
    "B37",
    "B41",
    "B49",
    "B52",
    "B54",
    "B55",
    "B57",
    "B58",
    "B59",
    "B61",
    "B62",
    "B63",
    "B64",
    "B65",
    "B68",
    "B69",
    "B70",
    "B71",
    "B73",
    "B75",
    "B78",
)
@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("path", "value", "line"),
    [pytest.param(*field, id=f"{field[0]}-{number}") for number, field in enumerate(FIELDS)],
)
def test_a_field_that_cannot_be_taken(fleet: Fleet, tmp_path: Path, path: str, value: object, line: str) -> None:
    document = bundle(put(path, value))
    text = json.dumps(document)
    file = tmp_path / "bad.json"
    file.write_text(text, encoding="utf-8")
    ran = fleet.rmctl("apply", "-f", str(file))
    refused(ran, 2, line)
    assert ran.err.startswith(f"rmctl: error: {file}:1:")
    assert "hunter2" not in ran.err
    whole = json.dumps({"documents": [document], "fieldManager": "test"}).encode()
    answer = wire(fleet, "POST", BATCH, whole)
    assert answer.code in (400, 422), answer
    assert "hunter2" not in json.dumps(answer.body)
    if isinstance(document["metadata"].get("name"), str) and path != "kind":
        single = wire(fleet, "POST", f"{ROOT}/namespaces/default/bundles", text.encode())
        assert single.code in (400, 422), single


@pytest.mark.req("B21")
@pytest.mark.usefixtures("unchanged")
def test_a_byte_order_mark_is_no_difference(fleet: Fleet, tmp_path: Path) -> None:
    text = json.dumps(bundle(put("spec.pool", "nosuch")))
    path = tmp_path / "bad.json"
    for mark in ("", "\ufeff"):
        path.write_text(mark + text, encoding="utf-8")
        refused(fleet.rmctl("apply", "-f", str(path)), 2, 'spec.pool: no pool "nosuch"')
        refused(fleet.rmctl("apply", "-f", "-", stdin=mark + text), 2, 'spec.pool: no pool "nosuch"')
        answer = wire(fleet, "POST", f"{ROOT}/namespaces/default/bundles", (mark + text).encode())
        assert (answer.code, answer.body["details"]["causes"][0]["field"]) == (422, "spec.pool")


@pytest.mark.req("B72", "S5")
@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("documents", "line"),
    [
        ([bundle(), bundle(put("metadata.name", "other")), bundle()], "bundle/bad: defined twice (documents 1 and 3)"),
        ([bundle(), bundle(put("spec.pool", "nosuch"))], "bundle/bad: defined twice (documents 1 and 2)"),
        ([bundle(put("metadata.name", "good")), bundle(put("spec.pool", "defualt"))], "did you mean default?"),
    ],
)
def test_one_bad_document_keeps_all_out(fleet: Fleet, tmp_path: Path, documents: list[Any], line: str) -> None:
    path = tmp_path / "many.json"
    path.write_text(json.dumps({"kind": "List", "items": documents}), encoding="utf-8")
    refused(fleet.rmctl("apply", "-f", str(path)), 2, line)
    answer = wire(fleet, "POST", BATCH, json.dumps({"documents": documents}).encode())
    assert (answer.code, line in json.dumps(answer.body)) == (422, True)


@pytest.mark.req("B71", "B77")
@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ({"tiers": []}, "spec.tiers: at least 1 needed"),
        (
            {"tiers": [{"name": "a", "kind": "local-servers", "scaleOut": "fixed"}] * 2},
            'spec.tiers[1].name: duplicateTier: "a" is named twice',
        ),
        (
            {"tiers": [{"name": "a", "kind": "aws", "scaleOut": "elastic", "endpointUrl": "http://10.0.0.1"}]},
            "unknown field spec.tiers[0].endpointUrl",
        ),
        (
            {"tiers": [{"name": "a", "kind": "aws", "scaleOut": "elastic", "endpoint_url": "http://10.0.0.1"}]},
            "unknown field spec.tiers[0].endpoint_url",
        ),
    ],
)
def test_a_pool_that_cannot_be_taken(fleet: Fleet, tmp_path: Path, spec: dict[str, Any], line: str) -> None:
    document = {"apiVersion": "rmctl/v1", "kind": "pool", "metadata": {"name": "bad"}, "spec": spec}
    path = tmp_path / "pool.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    refused(fleet.rmctl("apply", "-f", str(path)), 2, line)
    assert wire(fleet, "POST", f"{ROOT}/pools", json.dumps(document).encode()).code == 422


@pytest.mark.req("B69")
@pytest.mark.usefixtures("unchanged")
def test_a_circle_of_rules_is_printed(fleet: Fleet) -> None:
    """a and b share a node, so do b and c, and a and c must not."""
    rules = ({"coLocateWith": ["b"]}, {"coLocateWith": ["c"]}, {"separateFrom": ["a"]})
    jobs = [{**JOB, "jobName": name, **rule} for name, rule in zip("abc", rules, strict=True)]
    ran = fleet.rmctl("apply", "-f", "-", stdin=json.dumps(bundle(put("spec.jobs", jobs))))
    refused(ran, 2, 'spec.jobs[2].separateFrom: "a" shares a node with this job: c → b → a')
    both = [{**JOB, "coLocateWith": ["b"], "separateFrom": ["b"]}, {**JOB, "jobName": "b"}]
    ran = fleet.rmctl("apply", "-f", "-", stdin=json.dumps(bundle(put("spec.jobs", both))))
    refused(ran, 2, 'spec.jobs[0].coLocateWith: "b" is in separateFrom too')


@pytest.mark.req("B42", "B43", "B44", "B47", "B48", "B88", "B87", "B86", "B36", "B79", "B81")
@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (("get", "bundles", "-l", "env in ("), 2, "selector: column 9: "),
        (("get", "bundles", "-l", "env in ()"), 2, "selector: column 9: "),
        (("get", "bundles", "-l", "a,,b"), 2, "selector: column 3: "),
        (("get", "bundles", "-l", "vram > abc"), 2, "selector: column 8: > takes exactly one number"),
        (("get", "bundles", "-l", ",".join(f"k{n}" for n in range(33))), 2, "at most 32 expressions"),
        (("get", "bundles", "--field-selector", "spec.pool=x"), 2, 'field "spec.pool" cannot be selected by'),
        (("get", "pools", "--server", "unix:/" + "x" * 120), 2, "socket path is 121 bytes, limit 107"),
        (("get", "pools", "--server", "host:99999"), 2, '"host:99999" is not unix:PATH'),
        (("get", "pools", "--server", ":"), 2, '":" is not unix:PATH'),
        (("get", "pools", "--server", "unix:/nosuch.sock"), 4, "no server answers at unix:/nosuch.sock"),
        (("wait", "pool/default", "--timeout", "-1"), 2, "duration"),
        (("wait", "pool/default", "--timeout", "0"), 2, 'duration "0"'),
        (("wait", "pool/default", "--timeout", "abc"), 2, 'duration "abc"'),
        (("wait", "pool/default", "--timeout", "1e9"), 2, 'duration "1e9"'),
        (("delete", "bundle", "--all"), 2, "no such option: --all"),
        (("delete", "bundle", "--", "-h"), 2, 'bundle name "-h"'),
        (("delete", "--all"), 2, "no such option"),
        (("delete",), 2, "name what to delete"),
        (("apply", "-f", "/dev/zero"), 2, "/dev/zero"),
        (("apply", "-f", "http://127.0.0.1/x.yaml"), 2, "nothing is fetched"),
        (("apply", "-f", "/proc/self/mem"), 2, "/proc/self/mem"),
        (("apply", "-f", "nosuch.json"), 2, "nosuch.json: no such file"),
        (("gte", "pods"), 2, 'unknown verb "gte" (did you mean get?)'),
        (("get", "pods\x1b[31m"), 2, "unknown kind"),
        (("get", "pool/a\u202eb"), 2, "pool name"),
    ],
)
def test_a_command_line_that_cannot_be_meant(fleet: Fleet, words: tuple[str, ...], code: int, line: str) -> None:
    refused(fleet.rmctl(*words), code, line)


@pytest.mark.req("B47", "B48")
@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    "query",
    [
        "limit=-1",
        "limit=1000000000",
        "continue=garbage",
        "resourceVersion=abc",
        "resourceVersion=-1",
        "resourceVersion=0x10",
        "resourceVersion=1e3",
        "watch=maybe",
        "labelSelector=%00",
    ],
)
def test_a_question_that_cannot_be_answered(fleet: Fleet, query: str) -> None:
    answer = wire(fleet, "GET", f"{ROOT}/pools?{query}", b"")
    assert (answer.code, answer.body["status"]) == (400, "Failure"), answer


@pytest.mark.req("B34", "B35")
@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("name", ["..", ".", "a%2fb", "%2e%2e", "x'%20OR%201=1--", "a%00b", "default%0a"])
@pytest.mark.parametrize("method", ["GET", "DELETE", "PATCH"])
def test_a_path_that_is_no_name(fleet: Fleet, method: str, name: str) -> None:
    answer = wire(fleet, method, f"{ROOT}/pools/{name}", b"{}", "application/merge-patch+json")
    assert answer.code in (400, 404, 405, 422), answer
