"""What a job may ask for and write that would hurt its node, or whoever reads about it on a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fleet import COMMAND, Fleet, a_fleet

OWN_COLOURS = re.compile(rb"\x1b\[(0|31|32|33)m")
HOSTILE = "\x1b[2J\x1b[31mX\x1b]0;title\x07\u202egnp.exe\r\x9b5n"


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with a_fleet() as made:
        made.server()
        made.agent("mybox", "--capacity", "8")
        assert made.rmctl("wait", "node/mybox").code == 0
        yield made


def apply(fleet: Fleet, name: str, *, annotations: dict[str, str] | None = None, **job: Any) -> str:
    """A bundle of one job; the job's name."""
    asked = {"requiredCapacity": 0.5, "onRuntimeFailure": "avoidSpare"}
    document = {
        "apiVersion": "rmctl/v1",
        "kind": "bundle",
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {"pool": "default", "jobs": [{"jobName": "main", "requirements": asked, **job}]},
    }
    ran = fleet.rmctl("apply", "-f", "-", stdin=json.dumps(document))
    assert ran.code == 0, ran.err
    return f"job/{name}/primary/main"


@pytest.mark.req("B53")
def test_nothing_in_a_command_is_for_a_shell(fleet: Fleet) -> None:
    job = apply(fleet, "literal", command=["echo", "$(id)", ";id", "`id`", "$HOME", "*"])
    assert fleet.rmctl("wait", job).code == 0
    assert fleet.rmctl("logs", "literal/main").out == "$(id) ;id `id` $HOME *\n"


@pytest.mark.req("B62")
def test_a_job_that_wants_to_be_somebody_else_is_refused_by_its_node_for_good(fleet: Fleet) -> None:
    job = apply(fleet, "root", command=["id"], runAs="root")
    waited = fleet.rmctl("wait", job)
    assert (waited.code, "runAs: this node runs jobs as its own user only" in waited.err) == (8, True)
    assert fleet.rmctl("get", "effects", job).out.count("StartJob") == 1


@pytest.mark.req("B55", "S13")
def test_arguments_that_no_kernel_takes_end_the_job_at_the_first_try(fleet: Fleet) -> None:
    """Each part is within its limit; what the node makes of them is not."""
    job = apply(fleet, "huge", command=["echo", "${param.x}${param.x}"], parameters={"x": "y" * 100_000})
    waited = fleet.rmctl("wait", job)
    assert (waited.code, "InvalidSpec" in waited.err) == (8, True), waited.err
    assert fleet.rmctl("get", "effects", job).out.count("StartJob") == 1


@pytest.mark.req("B59")
def test_a_link_in_a_job_folder_leads_nowhere_else(fleet: Fleet) -> None:
    job = apply(fleet, "links", command=["ln", "-s", "/etc", "out"])
    assert fleet.rmctl("wait", job).code == 0
    job = apply(fleet, "links", command=["cat", "passwd"], workingDir="out")
    waited = fleet.rmctl("wait", "bundle/links")
    assert (waited.code, "is not a folder inside the job directory" in waited.err) == (8, True), waited.err


@pytest.mark.req("B37", "B40", "B83")
def test_nothing_that_a_job_or_a_person_wrote_moves_the_cursor(fleet: Fleet) -> None:
    quoted = HOSTILE.encode("unicode_escape").decode().replace("\\x9b", "\\u009b")
    job = apply(
        fleet,
        "loud",
        annotations={"note": HOSTILE},
        command=["python3", "-c", f'import time; print("{quoted}", flush=True); time.sleep(1000)'],
        env={"A": HOSTILE},
    )
    assert fleet.rmctl("wait", job).code == 0
    for words in (
        ("get", "resources"),
        ("get", "bundle/loud", "-o", "yaml"),
        ("get", "bundle/loud", "-o", "json"),
        ("get", "bundle/loud", "-o", "jsonpath={.metadata.annotations.note}"),
        ("describe", "bundle/loud", "--effective"),
        ("describe", job),
        ("why", job),
        ("logs", "loud/main"),
        ("events",),
        ("effects",),
        ("exec", job, "--", "printf", HOSTILE),
        ("get", "pool/" + HOSTILE),
    ):
        shown = on_a_terminal(fleet, *words)
        rest = OWN_COLOURS.sub(b"", shown).replace(b"\r\n", b"\n")
        assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", rest), (words, rest)
        assert "\u202e" not in rest.decode(), words
        assert "\x9b" not in rest.decode(), words
    document = json.loads(fleet.rmctl("get", "bundle/loud", "-o", "json").out)
    assert document["metadata"]["annotations"]["note"] == HOSTILE
    assert b"Traceback" not in on_a_terminal(fleet, "logs", "loud/main", ascii_only=True)


def on_a_terminal(fleet: Fleet, *words: str, ascii_only: bool = False) -> bytes:
    """All that a terminal would get to see."""
    ours, theirs = pty.openpty()
    environment = {**fleet.environment, "TERM": "xterm"}
    if ascii_only:
        environment |= {"LANG": "C", "PYTHONIOENCODING": "ascii"}
    process = subprocess.Popen(
        [*COMMAND, *words], env=environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    os.close(ours)
    process.wait()
    return b"".join(parts)


@pytest.mark.req("S16")
def test_the_last_words_outlive_what_was_too_much_to_keep(fleet: Fleet) -> None:
    """Ten thousand lines, one of 200 kB and bytes that are no text, then a crash."""
    program = (
        "import sys\n"
        "for n in range(10000): print('line', n)\n"
        "print('x' * 200_000)\n"
        "sys.stdout.flush(); sys.stdout.buffer.write(bytes([255, 254, 10])); sys.stdout.buffer.flush()\n"
        "print('the end', flush=True); sys.exit(7)\n"
    )
    job = apply(fleet, "chatty", command=["python3", "-c", program])
    assert fleet.rmctl("wait", job, "--for=jsonpath={.status.attempt}=2").code == 0
    told = fleet.rmctl("logs", "chatty/main", "--previous")
    assert (told.out, len(told.err.splitlines())) == ("\\xff\\xfe\nthe end\n", 1)
    assert told.err.startswith("attempt 1, ")
    assert told.err.endswith(".1.1, its last words only\n")
    assert fleet.rmctl("logs", "chatty/main", "--previous", "--tail", "1").out == "the end\n"
    assert fleet.rmctl("delete", "bundle/chatty").code == 0
