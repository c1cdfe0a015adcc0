"""The way of a newcomer: a kind is written, run, changed, broken, mended and tested."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT
from tests.fleet import COMMAND, Fleet


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    """In a folder of its own, where its processes are started too."""
    with tempfile.TemporaryDirectory(prefix="rm") as name:
        started = Fleet(Path(name))
        started.cwd = Path(name)
        started.environment |= {"PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(Path(name) / "config")}
        yield started
        started.end()


def definition(fleet: Fleet) -> Path:
    return fleet.folder / ".rm" / "resource-managers" / "note.resource_manager.py"


@pytest.mark.req("T47", "T54")
def test_a_kind_is_written_run_changed_broken_and_mended(fleet: Fleet) -> None:
    written = fleet.rmctl("init", "resource-manager", "note")
    assert (written.code, written.out.split()) == (
        0, [".rm/resource-managers/note.resource_manager.py", "tests/test_note.py", "note.yaml"],
    )  # fmt: skip
    again = fleet.rmctl("init", "resource-manager", "note")
    assert (again.code, "is there already" in again.err) == (2, True)
    fleet.server()
    second = fleet.rmctl("server")
    assert (second.code, "end it with rmctl server stop, or give this one a folder of" in second.err) == (5, True)
    applied = fleet.rmctl("apply", "-f", "note.yaml", "--wait", "--timeout", "300s")
    assert (applied.code, (fleet.folder / "one.txt").read_text()) == (0, "hello")
    manifest = fleet.folder / "note.yaml"
    manifest.write_text(manifest.read_text().replace("text: hello", "text: goodbye"))
    assert fleet.rmctl("apply", "-f", "note.yaml", "--wait", "--timeout", "300s").code == 0
    assert (fleet.folder / "one.txt").read_text() == "goodbye"
    (fleet.folder / "one.txt").unlink()
    while not ((fleet.folder / "one.txt").exists() and (fleet.folder / "one.txt").read_text()):
        pass
    assert (fleet.folder / "one.txt").read_text() == "goodbye"
    sound = definition(fleet).read_text()
    definition(fleet).write_text(sound.replace("len(text)", "len(txt)"))
    while "NameError: name 'txt' is not defined (note.resource_manager.py:" not in fleet.rmctl("why", "note/one").out:
        pass
    definition(fleet).write_text(sound)
    assert fleet.rmctl("wait", "note/one", "--for=Ready", "--timeout", "300s").code == 0
    gone = fleet.rmctl("delete", "note/one", "--timeout", "300s")
    assert (gone.code, (fleet.folder / "one.txt").exists()) == (0, False)


def test_the_test_that_comes_with_it_passes_and_finds_a_fault(fleet: Fleet) -> None:
    fleet.rmctl("init", "resource-manager", "note")
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    sound = subprocess.run(line, cwd=fleet.folder, env=fleet.environment, capture_output=True, text=True, check=False)
    assert sound.returncode == 0, sound.stdout
    path = definition(fleet)
    path.write_text(path.read_text().replace("observe=as_asked", "observe=lambda: None"))
    faulty = subprocess.run(line, cwd=fleet.folder, env=fleet.environment, capture_output=True, text=True, check=False)
    assert "test_a_crash_between_the_deed_and_its_note_repeats_nothing" in faulty.stdout
    assert faulty.returncode == 1


def test_a_kind_may_run_before_its_authors_eyes_and_is_given_back(fleet: Fleet) -> None:
    fleet.rmctl("init", "resource-manager", "note")
    path = definition(fleet)
    seen = "    print('seen by', __import__('os').getpid(), 'HERE' in __import__('os').environ)\n    file, text ="
    path.write_text(path.read_text().replace("    file, text =", seen))
    fleet.server()
    bench = subprocess.Popen(
        [*COMMAND, "server", "--dev", "note"],
        cwd=fleet.folder,
        env={**fleet.environment, "PYTHONUNBUFFERED": "1", "HERE": "alone"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert bench.stdout is not None
    assert bench.stderr is not None
    try:
        opening = bench.stderr.readline()
        assert opening == f'note runs here, from {path}, for project "default"; Ctrl-C gives it back\n'
        second = fleet.rmctl("server", "--dev", "note")
        assert (second.code, f"is worked on by pid {bench.pid}" in second.err) == (3, True)
        assert fleet.rmctl("apply", "-f", "note.yaml", "--wait", "--timeout", "300s").code == 0
        assert bench.stdout.readline() == f"seen by {bench.pid} False\n"
        assert bench.stdout.readline() == "note/one generation 1: again after 0 s\n"
        assert "note/one generation 1: settled\n" in iter(bench.stdout.readline, "")
        bench.send_signal(signal.SIGINT)
        assert bench.wait() == 0
    finally:
        bench.kill()
        bench.communicate()
    manifest = fleet.folder / "note.yaml"
    manifest.write_text(manifest.read_text().replace("text: hello", "text: goodbye"))
    assert fleet.rmctl("apply", "-f", "note.yaml", "--wait", "--timeout", "300s").code == 0
    assert (fleet.folder / "one.txt").read_text() == "goodbye"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("server", "--dev", "nothing"), "--dev nothing: no file"),
        (("init", "resource-manager", "pool"), "the kind is rmctl's own"),
        (("init", "resource-manager", "No"), "must match [a-z][a-z0-9-]{0,62}"),
    ],
)
def test_what_cannot_be_worked_on_is_refused(fleet: Fleet, words: tuple[str, ...], told: str) -> None:
    refused = fleet.rmctl(*words)
    assert refused.code == 2
    assert told in refused.err
    assert list(fleet.folder.iterdir()) == []
