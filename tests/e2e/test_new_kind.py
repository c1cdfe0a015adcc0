"""A kind is two files and a line in each registry: added to a copy of the tree, the server reconciles and serves it."""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT
from tests.fleet import Fleet

PACKAGES = ("resources", "placement", "store", "controllers", "api", "agent", "cli", "rmctl", "migrations")
MODEL = '''"""Lease: somebody holds something for a while."""

from __future__ import annotations

from resources.frozen import Number, Text
from resources.resource import Resource, Spec, Status


class LeaseSpec(Spec):
    holder: Text
    seconds: Number = 60


class LeaseStatus(Status):
    until: float | None = None


class Lease(Resource[LeaseSpec, LeaseStatus]):
    """A lease as it was read."""
'''
CONTROLLER = '''"""Lease: held until its time is over."""

from __future__ import annotations

from typing import ClassVar

from controllers.runtime.controller import Reader
from controllers.runtime.decision import Decision, Facts
from resources.conditions import condition
from resources.event import Event
from resources.lease import Lease, LeaseStatus


class LeaseController:
    kind: ClassVar[str] = "lease"
    places: ClassVar[bool] = False

    def observe(self, resource: Lease, reader: Reader) -> None:
        return None

    def decide(self, resource: Lease, view: None, facts: Facts) -> Decision:
        until = resource.created_at + resource.spec.seconds
        over = facts.now >= until
        reason, words = ("Over", "is over") if over else ("Held", f"is held by {resource.spec.holder}")
        status = LeaseStatus(until=until, conditions=(condition("Ready", not over, reason, words),))
        first = resource.status.until is None
        return Decision(
            status,
            events=(Event("LeaseTaken", words),) if first else (),
            requeue_after=None if over else until - facts.now,
        )
'''
KIND_LINE = '    Kind("lease", "leases", Lease, LeaseSpec, LeaseStatus, ("ls",), order=80),\n'
CONTROLLER_LINE = "    LeaseController(),\n"
LEASE = {
    "apiVersion": "rmctl/v1",
    "kind": "lease",
    "metadata": {"name": "door"},
    "spec": {"holder": "ada", "seconds": 3600},
}


def with_lines(registry: Path, *, table: str, imported: str, line: str) -> list[str]:
    """Put an import and an entry into a registry; the signs of the lines that differ."""
    before = registry.read_text()
    head, rest = before.split(f"\n{table}: ", 1)
    entries, beyond = rest.split("\n)\n", 1)
    registry.write_text(f"{head.rstrip()}\n{imported}\n\n{table}: {entries}\n{line})\n{beyond}")
    changed = difflib.unified_diff(before.splitlines(), registry.read_text().splitlines(), lineterm="", n=0)
    return [one[0] for one in changed if re.match(r"[-+](?![-+])", one)]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages with one kind more."""
    folder = tmp_path_factory.mktemp("tree")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "resources" / "lease.py").write_text(MODEL)
    (folder / "controllers" / "lease.py").write_text(CONTROLLER)
    changes = [
        with_lines(
            folder / "resources" / "registry.py",
            table="KINDS",
            imported="from resources.lease import Lease, LeaseSpec, LeaseStatus",
            line=KIND_LINE,
        ),
        with_lines(
            folder / "controllers" / "registry.py",
            table="CONTROLLERS",
            imported="from controllers.lease import LeaseController",
            line=CONTROLLER_LINE,
        ),
    ]
    assert changes == [["+", "+"], ["+", "+"]]
    return folder


@pytest.fixture(scope="module")
def fleet(tree: Path) -> Iterator[Fleet]:
    """A server of that tree."""
    before = Path.cwd()
    os.chdir(tree)
    data = tree / "d"
    data.mkdir()
    made = Fleet(data, [sys.executable, "-m", "rmctl"])
    made.environment.pop("PYTHONPATH", None)
    try:
        assert made.server().line.startswith("rmctl server ready")
        yield made
    finally:
        made.end()
        os.chdir(before)


def test_it_is_applied_reconciled_and_shown_like_any_other(fleet: Fleet) -> None:
    applied = fleet.rmctl("apply", "-f", "-", "--wait", stdin=json.dumps(LEASE))
    assert (applied.code, applied.out) == (0, "lease/door created\n"), applied.err
    found = json.loads(fleet.rmctl("get", "ls/door", "-o", "json").out)
    assert (found["spec"], found["status"]["observedGeneration"]) == (LEASE["spec"], 1)
    assert "lease/door" in fleet.rmctl("get", "resources").out
    assert "is held by ada" in fleet.rmctl("describe", "lease", "door").out
    assert "LeaseTaken" in fleet.rmctl("events", "--for", "lease/door").out
    assert "leases" in fleet.rmctl("api-resources").out


def test_its_spec_is_checked_and_changed_and_its_time_runs_out(fleet: Fleet) -> None:
    wrong = {**LEASE, "metadata": {"name": "gate"}, "spec": {"holdr": "ada"}}
    refused = fleet.rmctl("apply", "-f", "-", stdin=json.dumps(wrong))
    assert (refused.code, "holdr" in refused.err, "holder" in refused.err) == (2, True, True)
    short = {**LEASE, "metadata": {"name": "gate"}, "spec": {"holder": "bob", "seconds": 0.2}}
    assert fleet.rmctl("apply", "-f", "-", stdin=json.dumps(short)).code == 0
    assert fleet.rmctl("wait", "lease/gate", "--for=condition=Ready=False", "--timeout=60s").code == 0
    assert "is over" in fleet.rmctl("why", "lease/gate").out
    assert fleet.rmctl("delete", "lease/gate").code == 0
    assert fleet.rmctl("get", "lease/gate").code == 3


def test_it_survives_a_restart_without_a_migration(fleet: Fleet) -> None:
    assert fleet.rmctl("apply", "-f", "-", stdin=json.dumps(LEASE)).code == 0
    assert fleet.rmctl("server", "stop").code == 0
    assert fleet.server().line.startswith("rmctl server ready")
    assert fleet.rmctl("get", "leases", "-o", "name").out == "lease/door\n"
