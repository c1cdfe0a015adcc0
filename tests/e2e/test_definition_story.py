"""A kind in one file, from a project's folder to the wire: applied, shown, patched, deleted, mended."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fleet import Fleet

NOTE = '''
"""A note: a file that says what it should."""

from pathlib import Path

from rmctl import Context, Resource, Result, Spec, Status, condition_true, resource_manager

FINALIZER = "example/file"


class NoteSpec(Spec):
    path: str
    text: str = "hello"


class NoteStatus(Status):
    length: int = 0


@resource_manager("note", spec=NoteSpec, status=NoteStatus)
def reconcile(ctx: Context, resource: Resource[NoteSpec, NoteStatus]) -> Result:
    file, text = Path(resource.spec.path), resource.spec.text
    if resource.deleting:
        file.unlink(missing_ok=True)
        return ctx.settled(finalizers=[])
    if FINALIZER not in resource.metadata.finalizers:
        return ctx.requeue(finalizers=[FINALIZER])
    ctx.effects.ensure(
        key=f"write:{resource.metadata.generation}",
        kind="write-file",
        request={"path": str(file), "text": text},
        observe=lambda: str(file) if file.exists() and file.read_text() == text else None,
        apply=lambda: file.write_text(text) and str(file),
    )
    return ctx.settled({"length": len(text)}, conditions=[condition_true("Ready", "Written", f"{file} says so")])
'''


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    """Two projects with files of their own, and a server that knows them."""
    with tempfile.TemporaryDirectory(prefix="rm") as name:
        folder = Path(name)
        for project in ("site", "shop"):
            (folder / project / ".rm" / "resource-managers").mkdir(parents=True)
        projects = f'default = "{folder / "site"}"\nshop = "{folder / "shop"}"\n'
        (folder / "server.toml").write_text(f"[definitions]\nloadSeconds = 120\n[definitions.projects]\n{projects}")
        started = Fleet(folder)
        started.environment["XDG_CONFIG_HOME"] = str(folder / "config")
        yield started
        started.end()


def put(fleet: Fleet, project: str, text: str = NOTE, name: str = "note") -> Path:
    path = fleet.folder / project / ".rm" / "resource-managers" / f"{name}.resource_manager.py"
    path.write_text(text)
    return path


def a_note(fleet: Fleet, **spec: Any) -> str:
    spec = {"path": str(fleet.folder / "out.txt"), **spec}
    return json.dumps({"apiVersion": "rmctl/v1", "kind": "note", "metadata": {"name": "hi"}, "spec": spec})


def serve(fleet: Fleet) -> None:
    assert "ready" in fleet.server("--config", str(fleet.folder / "server.toml")).line


@pytest.mark.req("T47", "T48", "T54")
def test_a_resource_of_a_kind_in_one_file_lives_and_goes(fleet: Fleet) -> None:
    put(fleet, "site")
    serve(fleet)
    created = fleet.rmctl("apply", "-f", "-", "--wait", "--timeout", "300s", stdin=a_note(fleet, text="one"))
    assert (created.code, created.out.splitlines()[0]) == (0, "note/hi created")
    out = fleet.folder / "out.txt"
    assert out.read_text() == "one"
    assert fleet.rmctl("apply", "-f", "-", stdin=a_note(fleet, text="one")).out == "note/hi unchanged\n"
    shown = json.loads(fleet.rmctl("get", "note", "hi", "-o", "json").out)
    assert (shown["status"]["length"], shown["metadata"]["finalizers"]) == (3, ["example/file"])
    assert f"{out} says so" in fleet.rmctl("get", "notes").out
    described = fleet.rmctl("describe", "note/hi").out
    assert "write-file  applied" in described
    assert "Finalizers  example/file" in described
    patched = fleet.rmctl("patch", "note", "hi", "--patch", '{"spec": {"text": "four"}}')
    assert patched.code == 0, patched.err
    assert fleet.rmctl("wait", "note/hi", "--for=Ready", "--timeout", "300s").code == 0
    assert out.read_text() == "four"
    gone = fleet.rmctl("delete", "note/hi", "--timeout", "300s")
    assert (gone.code, out.exists()) == (0, False)
    assert "notes" in fleet.rmctl("api-resources").out


def test_the_fields_of_a_kind_are_those_of_its_file_in_this_project(fleet: Fleet) -> None:
    put(fleet, "site")
    put(fleet, "shop", NOTE.replace("text: str", "words: str"))
    serve(fleet)
    told = fleet.rmctl("explain", "notes.spec")
    assert [line.split() for line in told.out.splitlines()[-2:]] == [
        ["path", "text", "required"],
        ["text", "text", "hello", "unless", "given"],
    ]
    assert "words" in fleet.rmctl("explain", "note.spec", "-p", "shop").out
    assert "length" in fleet.rmctl("explain", "note.status").out
    refused = fleet.rmctl("explain", "note.spec.pat")
    assert (refused.code, "did you mean path?" in refused.err) == (2, True)


@pytest.mark.req("T48")
def test_a_spec_that_the_files_model_does_not_take_is_refused_where_it_stands(fleet: Fleet) -> None:
    put(fleet, "site")
    serve(fleet)
    bad = fleet.folder / "bad.yaml"
    bad.write_text("apiVersion: rmctl/v1\nkind: note\nmetadata: {name: hi}\nspec:\n  path: 3\n  txt: x\n")
    refused = fleet.rmctl("apply", "-f", str(bad))
    assert refused.code == 2
    assert f"{bad}:5:3: spec.path: expected text, got 3" in refused.err
    assert f"{bad}:6:3: unknown field spec.txt (did you mean text?)" in refused.err
    assert fleet.rmctl("get", "notes").out == ""
    patched = fleet.rmctl("apply", "-f", "-", "--dry-run=server", stdin=a_note(fleet))
    assert (patched.code, fleet.rmctl("get", "notes").out) == (0, "")


@pytest.mark.req("T47")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def (", "line 1: "),
        (
            NOTE.replace('resource_manager("note"', 'resource_manager("memo"'),
            'defines "memo", the file name says "note"',
        ),
        ("import os; os._exit(4)", "the process ended while it was loaded"),
    ],
    ids=["syntax", "name", "exits"],
)
def test_a_file_that_is_no_definition_refuses_the_apply_with_the_reason(fleet: Fleet, text: str, told: str) -> None:
    put(fleet, "site", text)
    serve(fleet)
    refused = fleet.rmctl("apply", "-f", "-", stdin=a_note(fleet))
    assert refused.code == 2
    assert told in refused.err
    assert fleet.rmctl("get", "notes").out == ""


@pytest.mark.req("T14", "CX7", "T47")
def test_files_of_the_same_name_in_two_projects_never_meet(fleet: Fleet) -> None:
    put(fleet, "site")
    put(fleet, "shop", NOTE.replace("len(text)", "-1").replace("path: str", "path: str\n    price: int"))
    serve(fleet)
    first = a_note(fleet, text="one")
    second = a_note(fleet, text="two", price=3, path=str(fleet.folder / "other.txt"))
    assert fleet.rmctl("apply", "-f", "-", "-p", "shop", stdin=first).code == 2
    assert fleet.rmctl("apply", "-f", "-", stdin=second).code == 2
    assert fleet.rmctl("apply", "-f", "-", "--wait", "--timeout", "300s", stdin=first).code == 0
    assert fleet.rmctl("apply", "-f", "-", "-p", "shop", "--wait", "--timeout", "300s", stdin=second).code == 0
    lengths = [
        fleet.rmctl("get", "note", "hi", "-p", project, "-o", "jsonpath={.status.length}").out.strip()
        for project in ("default", "shop")
    ]
    assert lengths == ["3", "-1"]
    assert fleet.rmctl("get", "notes", "-p", "nowhere").out == ""
    elsewhere = fleet.rmctl("apply", "-f", "-", "-p", "nowhere", stdin=first)
    assert elsewhere.code == 2
    assert 'no definition of note in project "nowhere"' in elsewhere.err


@pytest.mark.req("T47", "T50")
def test_a_file_that_goes_stalls_its_resources_and_one_that_comes_back_heals_them(fleet: Fleet) -> None:
    path = put(fleet, "site")
    serve(fleet)
    fleet.rmctl("apply", "-f", "-", "--wait", "--timeout", "300s", stdin=a_note(fleet))
    path.unlink()
    assert fleet.rmctl("wait", "note/hi", "--for=condition=Stalled", "--timeout", "300s").code == 0
    assert 'no definition of note in project "default"' in fleet.rmctl("why", "note/hi").out
    put(fleet, "site", NOTE.replace("says so", "is back"))
    while "is back" not in fleet.rmctl("why", "note/hi").out:
        pass
    assert fleet.rmctl("wait", "note/hi", "--for=Ready", "--timeout", "300s").code == 0


@pytest.mark.req("T47")
def test_a_key_that_is_no_name_has_one_on_the_wire_and_people_need_not_know_it(fleet: Fleet) -> None:
    put(fleet, "site")
    serve(fleet)
    document = json.loads(a_note(fleet))
    document["metadata"] = {"name": "acme/site#12"}
    applied = fleet.rmctl("apply", "-f", "-", "--wait", "--timeout", "300s", stdin=json.dumps(document))
    assert (applied.code, applied.out.splitlines()[0]) == (0, "note/acme/site#12 created")
    shown = json.loads(fleet.rmctl("get", "note", "acme/site#12", "-o", "json").out)
    assert (shown["metadata"]["name"][:2], shown["metadata"]["key"]) == ("x-", "acme/site#12")
    assert len(shown["metadata"]["name"]) == 18
    assert "annotations" not in shown["metadata"]
    assert fleet.rmctl("get", "notes").out.splitlines()[1].startswith("note/acme/site#12  True")
    found = fleet.rmctl("get", "notes", "--field-selector", "metadata.key=acme/site#12", "-o", "name")
    assert found.out == "note/acme/site#12\n"
    again = fleet.rmctl("apply", "-f", "-", stdin=json.dumps(shown))
    assert again.out == "note/acme/site#12 unchanged\n"
    assert fleet.rmctl("describe", "note/acme/site#12").out.startswith("note/acme/site#12: ")
    for words in (("effects",), ("events",), ("why", "note/acme/site#12")):
        told = fleet.rmctl(*words).out
        assert ("note/acme/site#12" in told, shown["metadata"]["name"] in told) == (True, False), told
    (effect,) = json.loads(fleet.rmctl("get", "effects", "-o", "json").out)["items"]
    assert effect["owner"]["resourceKey"] == "acme/site#12"
    gone = fleet.rmctl("delete", "note/acme/site#12", "--timeout", "300s")
    assert (gone.code, gone.out) == (0, "note/acme/site#12 deleted\n")


def test_a_key_with_control_characters_is_refused(fleet: Fleet) -> None:
    put(fleet, "site")
    serve(fleet)
    document = json.loads(a_note(fleet))
    document["metadata"] = {"key": "a\u0007b"}
    refused = fleet.rmctl("apply", "-f", "-", stdin=json.dumps(document))
    assert refused.code == 2
    assert "metadata.key: control characters are not allowed" in refused.err


@pytest.mark.req("CL1", "CL2", "CL3", "CL4", "CL5")
def test_a_kind_of_ones_own_is_listed_and_told_of_like_any_other(fleet: Fleet) -> None:
    put(fleet, "site")
    serve(fleet)
    empty = fleet.rmctl("get", "notes")
    assert (empty.code, empty.out, empty.err) == (0, "", "no notes in project default\n")
    fleet.rmctl("apply", "-f", "-", "--wait", "--timeout", "300s", stdin=a_note(fleet))
    heads, row = fleet.rmctl("get", "notes").out.splitlines()
    assert heads.split() == ["NAME", "READY", "REASON", "AGE", "WHERE", "DETAIL"]
    assert row.split()[:3] == ["note/hi", "True", "Written"]
    told = fleet.rmctl("describe", "note/hi").out
    assert [one for one in ("Generation", "Conditions", "Effects", "Finalizers", "Events") if one not in told] == []
    for words in (("get", "notes", "--nope"), ("describe",), ("get", "notes", "-o", "nope"), ("runs", "--nope")):
        refused = fleet.rmctl(*words)
        assert (refused.code, refused.out, refused.err.startswith("rmctl: error: ")) == (2, "", True)
    for verb in ("get", "runs", "init", "dev"):
        helped = fleet.rmctl(verb, "--help")
        assert (helped.code, f"rmctl {verb}" in helped.out, helped.err) == (0, True, "")
