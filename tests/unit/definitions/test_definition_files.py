"""Definition files: what is found where, and which are refused with the reason."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers.definitions.discovery import Folders
from controllers.definitions.loading import MAX_SOURCE, Unusable, load, source
from controllers.definitions.pool import Pool
from controllers.definitions.processes import Limits
from controllers.definitions.proposals import Definitions
from resources import registry

MINIMAL = """
from rmctl import Spec, resource_manager

class S(Spec):
    size: int = 1

@resource_manager("{name}", spec=S)
def reconcile(ctx, resource):
    return ctx.settled()
"""


def put(folder: Path, name: str, text: str | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.resource_manager.py"
    path.write_text(MINIMAL.format(name=name) if text is None else text)
    return path


@pytest.mark.req("T47", "CC6")
def test_a_project_sees_its_own_files_before_those_of_the_user(tmp_path: Path) -> None:
    user, project = tmp_path / "user", tmp_path / "acme"
    mine = put(user / "resource-managers", "gadget")
    shared = put(user / "resource-managers", "lamp")
    own = put(project / ".rm" / "resource-managers", "gadget")
    folders = Folders(user, {"acme": project})
    assert dict(folders.of("acme").files) == {"gadget": own, "lamp": shared}
    assert dict(folders.of("other").files) == {"gadget": mine, "lamp": shared}
    assert folders.every() == {"gadget", "lamp"}
    assert folders.places() == (own.parent, shared.parent)


@pytest.mark.req("T47", "CC6")
@pytest.mark.parametrize("name", ["Gadget", "9lives", "a_b", "bundle", "pools", "queue", "x" * 64])
def test_a_file_named_for_no_kind_or_for_one_of_rmctl_itself_is_refused(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / "resource-managers", name, "")
    found = Folders(tmp_path).of("default")
    assert (dict(found.files), list(found.refused)) == ({}, [path])


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Folders]:
    """Looked through for every word that nobody knows, as in a server that runs."""
    found = Folders(tmp_path)
    seeker = Definitions(found, Pool(Limits(), None, lambda: 0.0)).refresh
    registry.SEEKERS.append(seeker)
    yield found
    registry.SEEKERS.remove(seeker)


@pytest.mark.req("T47", "CC6")
def test_a_file_that_comes_later_is_found_by_whoever_asks_for_its_kind(folders: Folders, tmp_path: Path) -> None:
    assert registry.kind_named("latecomer") is None
    put(tmp_path / "resource-managers", "latecomer")
    found = registry.kind_named("latecomers")
    assert found is not None
    assert (found.name, folders.every()) == ("latecomer", {"latecomer"})


@pytest.mark.req("T47", "CC6")
def test_a_file_with_a_name_that_is_taken_harms_nobody(folders: Folders, tmp_path: Path) -> None:
    path = put(tmp_path / "resource-managers", "metrics")
    assert (registry.kind_named("metrics"), folders.paths()) == (None, frozenset())
    assert folders.of("default").refused == {path: f"{path}: the kind metrics is rmctl's own"}


@pytest.mark.req("T47", "CC6")
def test_files_without_the_suffix_are_nobodys_business(tmp_path: Path) -> None:
    folder = tmp_path / "resource-managers"
    folder.mkdir()
    (folder / "notes.py").write_text("")
    (folder / "gadget.resource_manager.py.bak").write_text("")
    found = Folders(tmp_path).of("default")
    assert (dict(found.files), dict(found.refused)) == ({}, {})


@pytest.mark.req("T47", "CC3")
def test_a_file_exports_one_definition_of_its_own_name(tmp_path: Path) -> None:
    definition = load(put(tmp_path, "gadget"))
    assert (definition.name, definition.deadline, definition.is_async) == ("gadget", 60.0, False)


@pytest.mark.req("T47", "CC3")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected one definition, found none"),
        (MINIMAL.format(name="gadget") + MINIMAL.format(name="gadget").replace("reconcile", "other"), "found 2"),
        (MINIMAL.format(name="lamp"), 'defines "lamp", the file name says "gadget"'),
        ("def (", "line 1: "),
        ("\n1 / 0\n", "line 2: ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(4)", "calls sys.exit(4) when it is imported"),
        ("#" * (MAX_SOURCE + 1), f"at most {MAX_SOURCE} bytes"),
    ],
    ids=["none", "two", "another's name", "syntax", "raises", "exits", "long"],
)
def test_any_other_file_is_refused_with_the_reason(tmp_path: Path, text: str, why: str) -> None:
    path = put(tmp_path, "gadget", text)
    with pytest.raises(Unusable) as refused:
        load(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert why in str(refused.value)


@pytest.mark.req("T47")
def test_what_is_no_plain_file_is_refused_and_waited_for_by_nobody(tmp_path: Path) -> None:
    pipe, folder = (tmp_path / f"{name}.resource_manager.py" for name in ("pipe", "folder"))
    os.mkfifo(pipe)
    folder.mkdir()
    endless = tmp_path / "endless.resource_manager.py"
    endless.symlink_to("/dev/zero")
    for path in (pipe, folder, endless):
        with pytest.raises(Unusable, match="is no plain file"):
            source(path)


@pytest.mark.req("T48")
def test_what_was_hashed_is_what_runs(tmp_path: Path) -> None:
    path = put(tmp_path, "gadget")
    _, digest = source(path)
    assert load(path, digest).name == "gadget"
    path.write_text(path.read_text() + "\n# another one\n")
    with pytest.raises(Unusable, match="changed since it was hashed"):
        load(path, digest)


@pytest.mark.req("CC3", "CM1")
@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ('"Gadget", spec=S', "must match"),
        ("7, spec=S", "must match"),
        ('"gadget", spec=dict', "spec: expected a class made from rmctl.Spec, got <class 'dict'>"),
        ('"gadget", spec=S()', "spec: expected a class made from rmctl.Spec, got S"),
        ('"gadget", spec=S, status=5', "status: expected a class made from rmctl.Status, got 5"),
        (
            '"gadget", spec=S, status=type("T", (S,), {"__annotations__": {"observed_generation": int}})',
            "ValueError: status.observedGeneration is the runtime's",
        ),
        (
            '"gadget", spec=S, status=type("T", (S,), {"__annotations__": {"must": int}})',
            "ValueError: status.must: expected a default, or an initial_status",
        ),
        ('"gadget", spec=S, deadline=0', "deadline: must be > 0 seconds"),
        ('"gadget", spec=S, deadline=float("nan")', "deadline: must be > 0 seconds"),
        ('"gadget", spec=S, deadline=3601', "at most 3600; longer work is a workflow"),
        ('"gadget", spec=S, deadline="5"', "deadline: must be > 0 seconds"),
        ('"gadget", spec=S, every="x"', "every: must be >= 1 seconds"),
        ('"gadget", spec=S, cron="61 * * * *"', 'ValueError: cron: "61 . . . ." is no schedule that ever comes'),
        ('"gadget", spec=S, cron="* * * * *", time_zone="Mars/X"', 'ValueError: time_zone: "Mars/X" is no time zone'),
    ],
)
def test_a_definition_that_cannot_be_says_so_when_it_is_made(tmp_path: Path, asked: str, why: str) -> None:
    path = put(tmp_path, "gadget", MINIMAL.format(name="gadget").replace('"gadget", spec=S', asked))
    with pytest.raises(Unusable, match=why):
        load(path)


@pytest.mark.req("CC3")
@pytest.mark.parametrize(
    ("head", "body", "why"),
    [
        (
            "def reconcile():",
            "return None",
            "too many positional arguments",
        ),
        ("def reconcile(ctx, resource, more):", "return None", "missing a required argument: 'more'"),
        ("def reconcile(ctx, resource):", "yield ctx.settled()", "and this one yields"),
        ("async def reconcile(ctx, resource):", "yield ctx.settled()", "and this one yields"),
        ("class Reconcile:", "x = 1", "expected a function of"),
    ],
    ids=["no arguments", "three", "yields", "yields async", "class"],
)
def test_a_reconcile_that_cannot_be_called_says_so_before_any_pass(
    tmp_path: Path, head: str, body: str, why: str
) -> None:
    text = MINIMAL.format(name="gadget").replace("def reconcile(ctx, resource):", head)
    path = put(tmp_path, "gadget", text.replace("return ctx.settled()", body))
    with pytest.raises(Unusable, match=why) as refused:
        load(path)
    assert "line 7: ValueError: reconcile: " in str(refused.value)


def test_the_kind_that_comes_with_rmctl_has_a_short_name() -> None:
    made = registry.define("pull-request")
    assert registry.kind_named("pr") is made
    assert made.short == ("pr",)
