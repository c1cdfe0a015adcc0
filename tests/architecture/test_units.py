"""The unit files for systemd say what their page says, and systemd takes them."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from agent import groups
from cli.agent import agent
from cli.serve import server
from tests.architecture.tree import ROOT, project

UNITS = ROOT / "cli" / "units"
PROGRAM = "/usr/local/bin/rmctl"
PAGE = (ROOT / "docs" / "services.md").read_text(encoding="utf-8")


def service(name: str) -> dict[str, str]:
    """The settings of the Service section; none is given twice."""
    text = (UNITS / f"rmctl-{name}.service").read_text(encoding="utf-8")
    section = text.partition("[Service]\n")[2].partition("\n[")[0]
    pairs = [line.partition("=") for line in section.splitlines() if line and not line.startswith("#")]
    found = {key: value for key, _, value in pairs}
    assert len(found) == len(pairs)
    return found


def test_the_end_of_an_agent_is_not_the_end_of_its_jobs() -> None:
    unit = service("agent")
    assert (unit["KillMode"], unit["Delegate"], unit["OOMPolicy"]) == ("process", "yes", "continue")
    assert unit["DelegateSubgroup"] == groups.OWN
    assert (unit["Restart"], unit["TasksMax"]) == ("always", "infinity")


def test_the_server_writes_to_its_own_folder_alone() -> None:
    unit = service("server")
    assert (unit["StateDirectory"], unit["StateDirectoryMode"], unit["ProtectSystem"]) == ("rmctl", "0700", "strict")
    assert unit["Environment"] == f"RM_DATA=/var/lib/{unit['StateDirectory']}"


@pytest.mark.parametrize(("name", "verb"), [("server", server), ("agent", agent)])
def test_what_a_unit_starts_is_a_verb_with_flags_that_exist(name: str, verb: object) -> None:
    program, word, *flags = service(name)["ExecStart"].split()
    assert (program, word) == (PROGRAM, name)
    known = {f"--{parameter.replace('_', '-')}" for parameter in inspect.signature(verb).parameters}  # type: ignore[arg-type]
    assert {flag for flag in flags if flag.startswith("--")} <= known
    assert flags[-1] == f"$RMCTL_{name.upper()}_FLAGS"
    assert f"RMCTL_{name.upper()}_FLAGS=" in PAGE


def test_the_page_explains_lines_that_are_there() -> None:
    explained = re.findall(r"^\| `(\w+)=(\w+)` \|", PAGE, re.MULTILINE)
    unit = service("agent")
    assert explained
    assert {key: unit.get(key) for key, _ in explained} == dict(explained)


def test_the_wheel_puts_them_where_the_page_says() -> None:
    shared = project()["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert shared == {"cli/units": "share/rmctl/systemd"}
    assert "share/rmctl/systemd" in PAGE


def test_systemd_finds_nothing_wrong_where_it_is_at_hand(tmp_path: Path) -> None:
    """With a program that is there, as the only thing that a checkout cannot have."""
    for unit in UNITS.glob("*.service"):
        assert PROGRAM in unit.read_text(encoding="utf-8")
        copy = tmp_path / unit.name
        copy.write_text(unit.read_text(encoding="utf-8").replace(PROGRAM, "/bin/true"), encoding="utf-8")
        verify = shutil.which("systemd-analyze")
        if verify is not None:
            ran = subprocess.run([verify, "verify", copy], capture_output=True, text=True, check=False)
            # an older systemd passes over what it does not know
            told = [line for line in ran.stderr.splitlines() if "'DelegateSubgroup'" not in line]
            assert (ran.returncode, told) == (0, [])
