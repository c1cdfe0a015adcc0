"""Commands beside jobs, and secrets: given to jobs, masked in what they print, and to be found nowhere else."""

from __future__ import annotations

import getpass
import json
import os
import secrets
import signal
import sqlite3
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet import Fleet, Process, a_fleet

BUNDLE = """\
apiVersion: rmctl/v1
kind: bundle
metadata: {name: vault}
spec:
  pool: default
  jobs:
    - jobName: main
      command: [sh, -c, "echo key $KEY, tea for two and ok $TWO; echo $KEY$KEY; exec sleep 1000"]
      secretEnv: {KEY: {secret: api, key: token}, TWO: {secret: api, key: pin}}
      requirements: {requiredCapacity: 0.5, onRuntimeFailure: avoidSpare}
"""
JOB = "job/vault/primary/main"
SENTINEL = secrets.token_hex(20)


class Vault:
    """A fleet whose one job knows the sentinel."""

    def __init__(self, fleet: Fleet, server: Process, agent: Process) -> None:
        self.fleet = fleet
        self.server = server
        self.agent = agent
        self.rmctl = fleet.rmctl


@pytest.fixture(scope="module")
def vault() -> Iterator[Vault]:
    with a_fleet() as made:
        server = made.server()
        agent = made.agent("mybox", "--capacity", "4")
        assert made.rmctl("wait", "node/mybox").code == 0
        assert made.rmctl("secret", "set", "api", "token", stdin=f"{SENTINEL}\n").out == "secret/api token created\n"
        short = made.rmctl("secret", "set", "api", "pin", stdin="ok")
        assert "is not masked" in short.err
        ran = made.rmctl("apply", "-f", "-", "--wait", stdin=BUNDLE)
        assert ran.code == 0, ran.err
        yield Vault(made, server, agent)


def test_a_command_runs_beside_a_job_and_its_code_is_ours(vault: Vault) -> None:
    ran = vault.rmctl("exec", "vault/primary/main", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert ran == (7, "out\n", "err\n")
    assert vault.rmctl("exec", JOB, "--", "sh", "-c", "echo $RM_JOB").out == "vault/primary/main\n"
    assert vault.rmctl("exec", JOB, "-i", "--", "tr", "a-z", "A-Z", stdin="aloud").out == "ALOUD"
    ended = vault.rmctl("exec", JOB, "--", "sh", "-c", "kill -9 $$")
    assert (ended.code, ended.err) == (137, "rmctl: sh was ended by SIGKILL\n")
    absent = vault.rmctl("exec", JOB, "--", "/nosuch")
    assert (absent.code, absent.err) == (126, "/nosuch: No such file or directory\n")


def test_a_command_that_does_not_end_is_ended_with_all_that_it_started(vault: Vault) -> None:
    ran = vault.rmctl("exec", JOB, "--timeout", "500ms", "--", "sh", "-c", "echo begun; sleep 1000")
    assert (ran.code, ran.out) == (7, "begun\n")
    assert ran.err == "rmctl: error: sh has not ended after 500ms; it was killed\n"
    answer = json.loads(vault.rmctl("exec", JOB, "-o", "json", "--", "true").out)
    assert (answer["code"], answer["node"], answer["timedOut"]) == (0, "mybox", False)


def test_a_node_that_is_connecting_again_is_waited_for(vault: Vault) -> None:
    """As it does behind a pause of the server, and behind a new start of it."""
    assert vault.rmctl("pause", "server", "--reason", "a look").code == 0
    assert vault.rmctl("exec", JOB, "--", "echo", "paused") == (0, "paused\n", "")
    assert vault.rmctl("resume", "server").code == 0
    assert vault.rmctl("exec", JOB, "--", "echo", "resumed") == (0, "resumed\n", "")
    vault.server.popen.kill()
    vault.server.popen.wait()
    vault.server = vault.fleet.server()
    assert vault.rmctl("exec", JOB, "--", "echo", "started") == (0, "started\n", "")
    vault.server.popen.terminate()
    vault.server.popen.wait()
    vault.server = vault.fleet.server()
    assert vault.rmctl("exec", JOB, "--", "echo", "again") == (0, "again\n", "")


def test_who_ran_what_is_kept_without_its_arguments(vault: Vault) -> None:
    assert vault.rmctl("exec", JOB, "--", "echo", "between-us").code == 0
    told = vault.rmctl("events", "--for", JOB).out
    assert f"{getpass.getuser()} exec echo with 1 argument" in told
    assert "between-us" not in told


def test_there_is_no_command_beside_a_job_that_does_not_run(vault: Vault) -> None:
    ran = vault.rmctl("exec", "vault/backup/main", "--", "true")
    assert (ran.code, ran.err) == (3, 'rmctl: error: (NotFound) job "vault/backup/main": not found\n')
    assert vault.rmctl("exec", JOB).code == 2
    assert vault.rmctl("exec", JOB, "--timeout", "11m", "--", "true").code == 2


@pytest.mark.req("S19", "T57")
def test_a_secret_is_masked_and_a_word_of_two_letters_is_not(vault: Vault) -> None:
    words = "key ***, tea for two and ok ok\n******\n"
    assert vault.rmctl("logs", "vault/main").out == words
    asked = vault.rmctl("exec", JOB, "--", "sh", "-c", "echo $KEY; env")
    assert asked.out.startswith("***\n")
    assert SENTINEL not in asked.out
    assert "***" in vault.rmctl("why", JOB).out or "key" not in vault.rmctl("why", JOB).out


@pytest.mark.req("S19", "T57")
def test_an_agent_that_started_anew_masks_what_it_was_never_told(vault: Vault) -> None:
    """While the job lives its values are in its environment; afterwards only keyed digests are left of them."""
    vault.agent.popen.send_signal(signal.SIGKILL)
    vault.agent.popen.wait()
    pid = int(vault.rmctl("get", JOB, "-o", "jsonpath={.status.pid}").out)
    log = next(path for path in vault.fleet.folder.glob("agents/mybox/instances/*/log"))
    with log.open("a") as file:
        file.write(f"last words with {SENTINEL} inside\n")
    os.kill(pid, signal.SIGKILL)
    vault.fleet.again("mybox")
    assert vault.rmctl("wait", JOB, "--for=jsonpath={.status.attempt}=2").code == 0
    assert vault.rmctl("wait", JOB).code == 0
    previous = vault.rmctl("logs", JOB, "--previous").out
    assert previous.splitlines()[-1] == "last words with *** inside"


@pytest.mark.req("S19", "T57", "B78")
def test_the_sentinel_is_found_nowhere_but_in_its_file_and_its_job(vault: Vault, tmp_path: Path) -> None:
    """Database, log, journals, events, effects, metrics, describe, a debug bundle and a backup."""
    debug, backup = tmp_path / "debug.tgz", tmp_path / "backup.db"
    assert vault.rmctl("doctor", "--bundle", str(debug)).code == 0
    assert vault.rmctl("backup", str(backup)).code == 0
    told = [
        vault.rmctl(*words)
        for words in (
            ("describe", JOB, "--effective"),
            ("describe", JOB, "-o", "json"),
            ("get", "resources", "-o", "json"),
            ("events", "-o", "json"),
            ("effects", "-o", "json"),
            ("metrics",),
            ("secret", "list"),
            ("secret", "list", "-o", "json"),
            ("logs", JOB),
        )
    ]
    assert all(ran.code == 0 for ran in told)
    assert not any(SENTINEL in ran.out + ran.err for ran in told)
    needle = SENTINEL.encode()
    with sqlite3.connect(backup) as connection:
        assert SENTINEL not in "\n".join(connection.iterdump())
    with tarfile.open(debug) as archive:
        for member in archive.getmembers():
            file = archive.extractfile(member)
            assert file is not None
            assert needle not in file.read(), member.name
    own = vault.fleet.folder / "secrets" / "default" / "api.json"
    found = [path for path in vault.fleet.folder.rglob("*") if path.is_file() and needle in path.read_bytes()]
    written_by_the_job = {path for path in found if path.name in ("log", "log.1")}
    assert set(found) - written_by_the_job == {own}
    assert {own.stat().st_mode & 0o777, own.parent.stat().st_mode & 0o777} == {0o600, 0o700}


@pytest.mark.req("B78")
def test_a_secret_can_be_listed_and_deleted_and_never_read(vault: Vault) -> None:
    listed = json.loads(vault.rmctl("secret", "list", "-o", "json").out)["items"]
    assert [(one["name"], one["key"], one["usedBy"]) for one in listed] == [
        ("api", "pin", [JOB]),
        ("api", "token", [JOB]),
    ]
    assert "value" not in listed[0]
    assert vault.rmctl("secret", "set", "gone", "key", stdin="something").code == 0
    before = json.loads(vault.rmctl("secret", "list", "-o", "json").out)["items"]
    assert vault.rmctl("secret", "set", "gone", "key", stdin="something").out == "secret/gone key configured\n"
    again = json.loads(vault.rmctl("secret", "list", "-o", "json").out)["items"]
    assert [one["digest"] for one in before] == [one["digest"] for one in again]
    assert vault.rmctl("secret", "delete", "gone").out == "secret/gone deleted\n"
    assert vault.rmctl("secret", "delete", "gone").code == 3
    assert not (vault.fleet.folder / "secrets" / "default" / "gone.json").exists()


@pytest.mark.req("B78")
def test_a_job_whose_secret_is_missing_is_refused_by_name(vault: Vault) -> None:
    text = BUNDLE.replace("vault", "locked").replace("key: token", "key: tokan")
    ran = vault.rmctl("apply", "-f", "-", stdin=text)
    assert (ran.code, ran.err.splitlines()) == (
        2,
        [
            "rmctl: error: stdin:9:19: spec.jobs[0].secretEnv.KEY: secret not found: api has no key tokan",
            "hint: rmctl secret set api tokan",
        ],
    )


@pytest.mark.parametrize(
    ("words", "stdin", "code", "line"),
    [
        (("a", "b"), "", 2, "stdin: the value is empty"),
        (("a", "b"), "\n", 2, "stdin: the value is empty"),
        (("a", "b"), "x" * 65537, 2, "stdin: the value is over 65536 bytes"),
        (("A_b", "c"), "x", 2, 'secret name "A_b": must match [a-z0-9]([-a-z0-9]*[a-z0-9])?'),
        (("a", "../x"), "x", 2, 'key "../x": letters, digits, hyphens, dots and underscores'),
        (("a",), "x", 2, "missing argument 'KEY'"),
    ],
)
def test_a_value_that_cannot_be_kept_is_refused_and_never_shown(
    vault: Vault, words: tuple[str, ...], stdin: str, code: int, line: str
) -> None:
    ran = vault.rmctl("secret", "set", *words, stdin=stdin)
    assert (ran.code, ran.out, ran.err.splitlines()[0]) == (code, "", f"rmctl: error: {line}")
