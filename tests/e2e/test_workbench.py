"""Definitions that are worked on in somebody's terminal: whose passes run there, and what they see."""

from __future__ import annotations

import os
import re
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from controllers.definitions.lending import NotLent
from controllers.definitions.processes import Limits
from controllers.definitions.workbench import serve
from controllers.runtime.environment import Threads
from resources.canonical import Document
from resources.reference import Ref
from tests.definition_house import House, a_house


@pytest.fixture
def folder() -> Iterator[Path]:
    """A socket's name has 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="rm") as name:
        yield Path(name)


class Bench:
    """The author's end, in a thread of the test: `ran` are the (project, key) of its passes, `seen` what they saw."""

    def __init__(self, folder: Path, file: Path) -> None:
        self.file = file
        self.socket = folder / "bench.sock"
        self.ran: list[tuple[str, str]] = []
        self.seen: Mapping[str, str] = {}
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(self.socket))
        self._door.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def end(self) -> None:
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._door.close()
        self.socket.unlink(missing_ok=True)

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                serve(self._door.accept()[0], self.file, Threads(), self._told, self._see)

    def _see(self, environment: Mapping[str, str]) -> None:
        self.seen = environment

    def _told(self, message: Document, _answer: Document) -> None:
        if message["do"] == "reconcile":
            metadata = message["resource"]["metadata"]
            self.ran.append((metadata["project"], metadata["key"]))


@contextmanager
def a_bench(folder: Path, file: Path) -> Iterator[Bench]:
    bench = Bench(folder, file)
    try:
        yield bench
    finally:
        bench.end()


def own_file(house: House, project: Path) -> Path:
    """The user's definition of `gadget`, copied into a project."""
    copy = project / ".rm" / "resource-managers" / "gadget.resource_manager.py"
    copy.parent.mkdir(parents=True)
    return Path(shutil.copy(house.put("gadget"), copy))


@pytest.mark.req("T54", "T14")
def test_a_kind_is_lent_for_one_project_and_from_the_file_behind_it(folder: Path) -> None:
    acme = folder / "acme"
    with a_house(folder, projects={"acme": acme}) as house, a_bench(folder, own_file(house, acme)) as bench:
        house.host.lend(Ref("gadget", "", "acme"), bench.file, bench.socket)
        refs = [house.create("gadget", name, project=project) for name, project in (("a", "acme"), ("d", "default"))]
        assert house.run(most=2) == 2
        assert [house.ready(ref) for ref in refs] == ["True/Fine"] * 2
        assert bench.ran == [("acme", "a")]
        with pytest.raises(NotLent, match=f'gadget in project "default" is defined by {house.files}'):
            house.host.lend(Ref("gadget", "", "default"), bench.file, bench.socket)


@pytest.mark.req("T54")
def test_a_second_terminal_is_told_of_the_first_until_that_has_ended(folder: Path) -> None:
    with a_house(folder) as house:
        ref, file = Ref("gadget", "", "default"), house.put("gadget")
        with a_bench(folder, file) as bench:
            house.host.lend(ref, file, bench.socket)
            told = f'{file} is worked on by pid {os.getpid()}, for project "default"'
            with pytest.raises(NotLent, match=re.escape(told)):
                house.host.lend(ref, file, folder / "other.sock")
        house.host.lend(ref, file, folder / "other.sock")


@pytest.mark.req("T57", "S19")
def test_a_terminal_is_shown_what_the_servers_processes_see_and_says_no_more(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_TOKEN", "sentinel-credential")
    monkeypatch.setenv("ANOTHER", "of the server alone")
    body = """
    return ctx.settled(conditions=[condition_true("Ready", "Fine", os.environ["THE_TOKEN"])])
    """
    with a_house(folder, limits=Limits(pass_on=("THE_TOKEN",))) as house:
        file = house.put("gadget", body)
        with a_bench(folder, file) as bench:
            house.host.lend(Ref("gadget", "", "default"), file, bench.socket)
            ref = house.create("gadget", "g")
            house.run()
            assert [one.message for one in house.get(ref).status.conditions] == ["***"]
            assert (bench.seen["THE_TOKEN"], "PATH" in bench.seen, "ANOTHER" in bench.seen) == (
                "sentinel-credential", True, False,
            )  # fmt: skip
