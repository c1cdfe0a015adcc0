"""Stock kubectl and the kinds that files define: explained, checked and applied like any other."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.tree import ROOT
from tests.cli_runs import Ran
from tests.fleet import Fleet

NOTE = '''
from typing import Any

from pydantic import Field

from rmctl import Spec, Status, condition_true, resource_manager

class Page(Spec):
    """One page of a note."""

    text: str
    left: list["Page"] = Field(default_factory=list, description="What lies below it.")

class NoteSpec(Spec):
    """What a note says."""

    title: str = Field(description="The first line.")
    size: int = Field(default=1, ge=1, le=9)
    colour: str | None = None
    pages: tuple[Page, ...] = ()

class NoteStatus(Status):
    length: int = 0

@resource_manager("note", spec=NoteSpec, status=NoteStatus)
def reconcile(ctx: Any, resource: Any) -> Any:
    return ctx.settled({"length": len(resource.spec.title)}, conditions=[condition_true("Ready", "Written")])
'''
ODD = """
from pydantic import ConfigDict, Field

from rmctl import Spec, resource_manager

class OddSpec(Spec):
    model_config = ConfigDict(json_schema_extra={"type": 7, "required": "all", "items": "$ref"})
    size: int = Field(default=1, json_schema_extra={"items": 3, "description": ["x"], "properties": [1]})

@resource_manager("odd", spec=OddSpec)
def reconcile(ctx, resource):
    return ctx.settled()
"""
FILES = {"note": NOTE, "odd": ODD, "broken": "def (", "gone": "import os; os._exit(3)"}


class Kubectl:
    """kubectl as installed, at a server whose folder has these files."""

    def __init__(self, fleet: Fleet) -> None:
        config = fleet.rmctl("config", "kubeconfig")
        assert config.code == 0, config.err
        path = fleet.folder / "kubeconfig"
        path.write_text(config.out)
        self._environment = {**os.environ, "KUBECONFIG": str(path), "HOME": str(fleet.folder)}

    def __call__(self, *words: str, stdin: str = "") -> Ran:
        line = ["kubectl", *words]
        ran = subprocess.run(line, env=self._environment, input=stdin, capture_output=True, text=True, check=False)
        return Ran(ran.returncode, ran.stdout, ran.stderr)


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with tempfile.TemporaryDirectory(prefix="rm") as name:
        folder = Path(name)
        definitions = folder / ".rm" / "resource-managers"
        definitions.mkdir(parents=True)
        for kind, text in FILES.items():
            (definitions / f"{kind}.resource_manager.py").write_text(text)
        (folder / "server.toml").write_text("[definitions]\nloadSeconds = 120\n")
        started = Fleet(folder)
        started.cwd = folder
        started.environment |= {"PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(folder / "config")}
        started.server("--http", "https://127.0.0.1:0", "--config", str(folder / "server.toml"))
        yield started
        started.end()


@pytest.fixture(scope="module")
def kubectl(fleet: Fleet) -> Kubectl:
    return Kubectl(fleet)


def a_note(name: str, **spec: Any) -> str:
    return json.dumps({"apiVersion": "rmctl/v1", "kind": "note", "metadata": {"name": name}, "spec": spec})


def test_explain_shows_the_fields_that_the_file_declares(kubectl: Kubectl) -> None:
    told = kubectl("explain", "notes.spec")
    assert told.code == 0, told.err
    fields = {line.split()[0]: line.split()[1:] for line in told.out.splitlines() if "\t<" in line}
    assert fields["title"] == ["<string>", "-required-"]
    assert fields["size"] == ["<integer>"]
    assert "What a note says." in told.out
    pages = kubectl("explain", "note.spec.pages.left")
    assert ("What lies below it." in pages.out, "text" in pages.out) == (True, True)
    status = kubectl("explain", "note.status").out
    assert [name for name in ("length", "conditions", "workflowRun", "observedGeneration") if name not in status] == []


def test_apply_is_judged_by_the_files_own_model(kubectl: Kubectl) -> None:
    assert kubectl("apply", "-f", "-", stdin=a_note("one", title="hello")).out == "note.rmctl/one created\n"
    assert kubectl("apply", "-f", "-", stdin=a_note("one", title="hello")).out == "note.rmctl/one unchanged\n"
    assert kubectl("wait", "--for=condition=Ready", "note/one", "--timeout=300s").code == 0
    assert kubectl("get", "note", "one", "-o", "jsonpath={.status.length}").out == "5"
    for spec, told in (({"title": "x", "colr": "red"}, "colr"), ({"size": 3}, "title"), ({"title": 5}, "title")):
        refused = kubectl("apply", "-f", "-", stdin=a_note("two", **spec))
        assert (refused.code, told in refused.err) == (1, True), refused.err
    assert kubectl("apply", "--dry-run=server", "-f", "-", stdin=a_note("two", title="x", size=10)).code == 1
    assert kubectl("get", "note", "two").code == 1


def test_a_file_with_an_odd_schema_or_none_spoils_no_other_kind(kubectl: Kubectl) -> None:
    assert "requiredCapacity" in kubectl("explain", "bundle.spec.jobs.requirements").out
    assert "size" in kubectl("explain", "odd.spec").out
    broken = kubectl("explain", "broken")
    assert (broken.code, "rmctl explain broken -p PROJECT" in broken.out) == (0, True)
    assert kubectl("explain", "gone.spec").code == 0


def test_every_reference_in_what_is_served_resolves(fleet: Fleet, kubectl: Kubectl) -> None:
    index = json.loads(kubectl("get", "--raw", "/openapi/v3").out)["paths"]
    told = kubectl("get", "--raw", index["apis/rmctl/v1"]["serverRelativeURL"]).out
    schemas = json.loads(told)["components"]["schemas"]
    referred = {part.partition('"')[0] for part in told.split('"#/components/schemas/')[1:]}
    assert referred <= set(schemas)
    assert "rmctl.v1.note.spec.Page" in schemas
    assert schemas["rmctl.v1.broken.spec"]["x-kubernetes-preserve-unknown-fields"] is True


def test_a_file_that_changes_is_explained_anew(fleet: Fleet, kubectl: Kubectl) -> None:
    path = fleet.folder / ".rm" / "resource-managers" / "note.resource_manager.py"
    path.write_text(NOTE.replace("colour: str", "paint: str"))
    try:
        assert "paint" in kubectl("explain", "note.spec").out
    finally:
        path.write_text(NOTE)
