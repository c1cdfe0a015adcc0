"""Words of a command line as values: flags, names, addresses, durations, goals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cli.address import Address, parse_address
from cli.durations import age, seconds, span
from cli.errors import CliError, UnknownKind
from cli.flags import Flags, split
from cli.goals import READY, Condition, Gone, Value, parse_goal
from cli.kinds import KINDS, KindName, known
from cli.targets import job_words, jobs, named, nodes, targets
from resources.registry import KINDS as REGISTERED


def find(word: str) -> KindName:
    kind = known(word)
    if kind is None:
        raise UnknownKind(word, "")
    return kind


def refusal(ask: Callable[[], object]) -> str:
    with pytest.raises(CliError) as caught:
        ask()
    assert caught.value.exit_code == 2
    return caught.value.message


def test_the_kinds_that_a_client_knows_are_those_that_are_registered() -> None:
    registered = {(k.name, k.plural, k.short, k.namespaced, k.order) for k in REGISTERED}
    assert set(map(tuple, KINDS)) == registered


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("get jobs -o json -p news", (Flags(project="news", output="json"), "get", ["jobs"])),
        ("-n news get jobs -ojson", (Flags(project="news", output="json"), "get", ["jobs"])),
        ("--server=unix:/s get --output=wide jobs", (Flags(server="unix:/s", output="wide"), "get", ["jobs"])),
        ("get job -- -h -o json", (Flags(), "get", ["job", "--", "-h", "-o", "json"])),
        ("delete pool a --wait=false", (Flags(), "delete", ["pool", "a", "--no-wait"])),
        ("apply -f x --dry-run --wait=true", (Flags(), "apply", ["-f", "x", "--dry-run=server", "--wait"])),
        ("agent --node a --server b:1", (Flags(), "agent", ["--node", "a", "--server", "b:1"])),
        ("--help", (Flags(), None, ["--help"])),
    ],
)
def test_global_flags_stand_anywhere(words: str, expected: tuple[Flags, str | None, list[str]]) -> None:
    assert split(words.split()) == expected


def test_a_flag_without_its_value_is_named() -> None:
    assert refusal(lambda: split(["get", "jobs", "-o"])) == "-o needs a value"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("jobs", "jobs"),
        ("po,node", "pools nodes"),
        ("bd ch-1 ch-2", "bundle/ch-1 bundle/ch-2"),
        ("job ch-1/primary/encode", "job/ch-1/primary/encode"),
        ("jb ch-1.backup.encode", "job/ch-1/backup/encode"),
        ("job/ch-1/primary/encode", "job/ch-1/primary/encode"),
        ("pool/a node/b", "pool/a node/b"),
        ("Bundle ch-1", "bundle/ch-1"),
    ],
)
def test_kind_name_and_kind_slash_name_are_the_same(words: str, shown: str) -> None:
    assert " ".join(map(str, targets(words.split(), find))) == shown


@pytest.mark.req("B30", "B33", "B34", "B35", "B36", "B29", "B32")
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("../../etc/passwd", "must match [a-z0-9]([-a-z0-9]*[a-z0-9])?"),
        ("a%2fb", "must match [a-z0-9]([-a-z0-9]*[a-z0-9])?"),
        (".", "must match [a-z0-9]([-a-z0-9]*[a-z0-9])?"),
        ("..", "must match [a-z0-9]([-a-z0-9]*[a-z0-9])?"),
        ("x' OR 1=1 --", "must match [a-z0-9]([-a-z0-9]*[a-z0-9])?"),
        ("ａｂｃ", "must match [a-z0-9]([-a-z0-9]*[a-z0-9])?"),
        ("a\0b", "must match [a-z0-9]([-a-z0-9]*[a-z0-9])?"),
        ("-h", "must match [a-z0-9]([-a-z0-9]*[a-z0-9])?"),
        ("a" * 64, "at most 63 characters"),
    ],
)
def test_a_name_that_cannot_be_never_reaches_a_path(name: str, problem: str) -> None:
    assert refusal(lambda: targets(["pool", name], find)) == f'pool name "{name}": {problem}'


@pytest.mark.parametrize("name", ["ch-1/standby/encode", "ch-1", "ch-1.encode", "a/b/c/d", "A/b"])
def test_a_job_has_a_bundle_and_a_role_that_there_is(name: str) -> None:
    expected = f'job name "{name}": expected BUNDLE/ROLE/JOB with the role primary or backup'
    assert refusal(lambda: targets(["job", name], find)) == expected


@pytest.mark.parametrize(
    "words",
    [
        ["ch-1/encode"],
        ["ch-1/primary/encode"],
        ["ch-1.primary.encode"],
        ["job", "ch-1/encode"],
        ["job/ch-1/encode"],
        ["jobs", "ch-1.primary.encode"],
    ],
)
def test_a_jobs_own_name_is_enough_and_may_leave_out_the_primary(words: list[str]) -> None:
    assert [str(one) for one in targets(words, find)] == ["job/ch-1/primary/encode"]
    assert [str(one) for one in jobs(words)] == ["job/ch-1/primary/encode"]


def test_what_is_nearly_a_kind_is_taken_for_one() -> None:
    def unknown(word: str) -> KindName:
        raise UnknownKind(word, "bundle")

    assert refusal(lambda: targets(["bundel/encode"], unknown)) == 'unknown kind "bundel" (did you mean bundle?)'


def test_a_verb_that_needs_a_name_says_so() -> None:
    assert refusal(lambda: named(["jobs"], find)) == "job: a name is needed, as KIND NAME or KIND/NAME"
    assert refusal(lambda: named(["job", "job/a/primary/b"], find)).endswith("write KIND NAME or KIND/NAME, not both")


@pytest.mark.parametrize(
    ("word", "role", "parts"),
    [
        ("a/primary/b", None, ("a", "primary", "b")),
        ("job/a/backup/b", None, ("a", "backup", "b")),
        ("a.backup.b", None, ("a", "backup", "b")),
        ("a/b", None, ("a", "primary", "b")),
        ("a/b", "backup", ("a", "backup", "b")),
        ("a", None, ("a", "primary", "")),
        ("job/primary/b", None, ("job", "primary", "b")),
    ],
)
def test_the_job_of_logs_may_be_written_short(word: str, role: str | None, parts: tuple[str, str, str]) -> None:
    assert tuple(job_words(word, role)) == parts


def test_start_and_cordon_take_their_kind_as_said() -> None:
    assert [str(one) for one in jobs(["a/primary/b", "job/a/backup/b"])] == ["job/a/primary/b", "job/a/backup/b"]
    assert [str(one) for one in jobs(["job", "job/primary/b"])] == ["job/job/primary/b"]
    assert [str(one) for one in nodes(["node", "a", "node/b"])] == ["node/a", "node/b"]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("unix:/run/a.sock", Address("unix", "/run/a.sock")),
        ("unix:///run/a.sock", Address("unix", "/run/a.sock")),
        ("unix:a.sock", Address("unix", "a.sock")),
        ("/run/a.sock", Address("unix", "/run/a.sock")),
        ("127.0.0.1:80", Address("http", "127.0.0.1", 80)),
        ("fleet.example:443", Address("https", "fleet.example", 443)),
        ("http://[::1]:8080", Address("http", "[::1]", 8080)),
    ],
)
def test_an_address_says_how_it_is_spoken_to(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.req("B87", "B88")
@pytest.mark.parametrize("text", ["host:99999", "host:0", ":", "http://x", "ftp://a:1", "a b:1", "unix:", "host"])
def test_what_is_no_address_is_a_usage_error(text: str) -> None:
    expected = f'"{text}" is not unix:PATH, HOST:PORT, http://HOST:PORT or https://HOST:PORT'
    assert refusal(lambda: parse_address(text)) == expected


@pytest.mark.req("B87")
def test_a_socket_path_has_107_bytes() -> None:
    assert refusal(lambda: parse_address("unix:///" + "a" * 119)) == "socket path is 120 bytes, limit 107"


@pytest.mark.parametrize(
    ("text", "length"), [("90s", 90), ("10m", 600), ("1h30m", 5400), ("0.5s", 0.5), ("500ms", 0.5)]
)
def test_durations_have_units(text: str, length: float) -> None:
    assert seconds(text) == length


@pytest.mark.req("B86")
@pytest.mark.parametrize("text", ["-1", "0", "0s", "abc", "1e9", "5", "", "10 m", "400d", "1h30"])
def test_what_is_no_duration_is_a_usage_error(text: str) -> None:
    assert refusal(lambda: seconds(text)).startswith(f'duration "{text}": write it as 90s')


def test_ages_and_spans_are_short() -> None:
    assert [age(n) for n in (-1, 0, 59.9, 60, 3599, 86399, 86400 * 12)] == [
        "0s",
        "0s",
        "59s",
        "1m",
        "59m",
        "23h",
        "12d",
    ]
    lengths = (2.5, 3, 36.4, 60, 364, 11520, 86400 * 2)
    assert [span(n) for n in lengths] == ["2.5 s", "3s", "36s", "1m", "6m04s", "3h12m", "2d"]


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("Ready", READY),
        ("ready", READY),
        ("delete", Gone()),
        ("condition=Stalled", Condition("Stalled")),
        ("condition=Available=false", Condition("Available", "False")),
        ("jsonpath={.status.phase}=running", Value("{.status.phase}", "running")),
        ("jsonpath=.status.pid", Value(".status.pid")),
        ("jsonpath={.a[?(@.b=='c')].d}=e=f", Value("{.a[?(@.b=='c')].d}", "e=f")),
    ],
)
def test_goals_are_read_as_kubectl_reads_them(text: str, goal: object) -> None:
    assert parse_goal(text) == goal


@pytest.mark.parametrize("text", ["", "Running", "condition=", "condition=Ready=maybe", "jsonpath=", "jsonpath={.a"])
def test_what_is_no_goal_is_a_usage_error(text: str) -> None:
    assert refusal(lambda: parse_goal(text))
