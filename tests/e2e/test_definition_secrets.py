"""A credential that a definition tells everywhere it can: nobody reads it anywhere."""

from __future__ import annotations

import json
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet import Fleet

ROOT = Path(__file__).parents[2]
SENTINEL = "q7Zt4Xw9Kp2Lm8Rv5Nc3Jh6Bd1Gf0Ys4Ue7Ia2Ok"
HOOK = "H3oW9vT6mB2xC8nZ5kL1jQ7rP4sD0fG9hA3yE6uI"
PASSWORD = "T6yP0oL3kM9nB2vC5xZ8aS1dF4gH7jQ"
DEFINITION = """
import os, sys
from pydantic import SecretStr
from rmctl import Spec, Unknown, condition_false, resource_manager

class LeakSpec(Spec):
    mode: str = "settle"
    pw: SecretStr = SecretStr("")

def first(spec):
    if spec.mode == "refuse":
        raise ValueError(os.environ["FORGE_TOKEN"])
    return {"noted": os.environ["FORGE_TOKEN"]}

@resource_manager("leak", spec=LeakSpec, initial_status=first)
def reconcile(ctx, resource):
    token = os.environ["FORGE_TOKEN"]
    print(token, flush=True)
    print(token, file=sys.stderr, flush=True)
    ctx.event("Told", f"efficient {token}")
    ctx.event("Used", f"with {resource.spec.pw.get_secret_value()}")
    run = ctx.workflows.ensure(key="w", workflow="spill", input={"with": token})
    if resource.spec.mode == "raise":
        raise ValueError(token)
    if resource.spec.mode == "die":
        os._exit(3)
    if "run" in resource.status:
        ctx.effects.ensure(
            key="k",
            kind="call",
            request={"as": token},
            observe=lambda: Unknown(token),
            apply=lambda: Unknown(f"401 {token}"),
        )
    told = [condition_false(kind, "Told", token) for kind in ("Ready", "Heard")]
    return ctx.settled({"noted": token, **({"run": run.error} if run.error else {})}, conditions=told)
"""
WORKFLOW = """
import os
from rmctl import workflow

@workflow("spill")
def spill(run, given):
    run.step("one", lambda: os.environ["FORGE_TOKEN"])
    print(os.environ["FORGE_TOKEN"], flush=True)
    raise RuntimeError(os.environ["FORGE_TOKEN"])
"""


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    with tempfile.TemporaryDirectory(prefix="rm") as name:
        folder = Path(name)
        started = Fleet(folder)
        started.cwd = folder
        started.environment |= {
            "PYTHONPATH": str(ROOT),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "FORGE_TOKEN": SENTINEL,
            "PIN": "ef",
        }
        for kind, text in (
            ("resource-managers/leak.resource_manager.py", DEFINITION), ("workflows/spill.workflow.py", WORKFLOW),
        ):  # fmt: skip
            path = folder / ".rm" / kind
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (folder / "server.toml").write_text(
            '[definitions]\nloadSeconds = 120\npassEnvironment = ["FORGE_TOKEN", "PIN"]\n'
        )
        yield started
        started.end()


def put(fleet: Fleet, kind: str, name: str, spec: object) -> tuple[int, str]:
    document = {"apiVersion": "rmctl/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    ran = fleet.rmctl("apply", "-f", "-", stdin=json.dumps(document))
    return ran.code, ran.out + ran.err


@pytest.mark.req("S19", "T57")
def test_the_credential_of_a_provider_is_found_nowhere(fleet: Fleet, tmp_path: Path) -> None:
    served = fleet.server("--config", str(fleet.folder / "server.toml"))
    assert "ready" in served.line
    assert fleet.rmctl("secret", "set", "hooks", "key", stdin=HOOK).code == 0
    wakes = [{"kind": "leak", "key": "settle"}]
    told = [put(fleet, "webhook", "forge", {"secret": {"secret": "hooks", "key": "key"}, "wakes": wakes})]
    told += [put(fleet, "leak", mode, {"mode": mode, "pw": PASSWORD}) for mode in ("settle", "raise", "die", "refuse")]
    assert [code for code, _ in told] == [0, 0, 0, 0, 2]
    for name, words in (("settle", "efficient ***"), ("raise", "ValueError: ***"), ("die", "exited with 3")):
        while words not in fleet.rmctl("events", "--for", f"leak/{name}").out:
            pass
    while "failed" not in fleet.rmctl("runs").out:
        pass
    assert fleet.rmctl("reconcile", "leak/settle").code == 0
    while "indeterminate" not in fleet.rmctl("effects").out:
        pass
    debug = tmp_path / "debug.tgz"
    assert fleet.rmctl("doctor", "--bundle", str(debug)).code == 0
    words = (
        *(("describe", f"leak/{name}") for name in ("settle", "raise", "die")),
        *(("why", f"leak/{name}") for name in ("settle", "raise", "die")),
        *((verb, "-o", "json") for verb in ("events", "effects", "runs")),
        ("get", "leaks", "-o", "json"),
        ("get", "queue", "-o", "json"),
        ("metrics",),
    )
    told += [(ran.code, ran.out + ran.err) for ran in (fleet.rmctl(*one) for one in words)]
    assert not [text for _, text in told if SENTINEL in text or HOOK in text]
    with tarfile.open(debug) as archive:
        for member in archive.getmembers():
            file = archive.extractfile(member)
            assert file is not None
            content = file.read()
            assert not [one for one in (SENTINEL, HOOK, PASSWORD) if one.encode() in content], member.name
    files = [path for path in fleet.folder.rglob("*") if path.is_file()]
    assert {"state.db", "state.db-wal"} <= {path.name for path in files}
    assert [path for path in files if SENTINEL.encode() in path.read_bytes()] == []
    assert [path.name for path in files if HOOK.encode() in path.read_bytes()] == ["hooks.json"]
