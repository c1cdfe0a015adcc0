"""The wheel, in a virtual environment of its own: it is whole, and a server, a node and a job run from it."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT
from tests.fleet import a_fleet

BUNDLE = """
apiVersion: rmctl/v1
kind: bundle
metadata: {name: hello}
spec:
  pool: default
  jobs:
    - jobName: main
      command: [sh, -c, "echo from the wheel; exec sleep 1000"]
      requirements: {requiredCapacity: 0.1, onRuntimeFailure: avoidSpare}
"""
WHERE = "import cli, rmctl, store.schema; print(cli.__file__, store.schema._carried())"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that holds the wheel and nothing else of ours; libraries are this one's."""
    folder = tmp_path_factory.mktemp("apart")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install = [python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--disable-pip-version-check", wheel]
    subprocess.run(install, check=True, capture_output=True)
    query = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(query, check=True, capture_output=True, text=True).stdout.strip())
    (packages / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    return folder / "bin"


def test_the_wheel_carries_all_that_a_server_reads(wheel: Path) -> None:
    """Every file of the packages, the migrations among the store's, and nothing of the tests."""
    names = set(zipfile.ZipFile(wheel).namelist())
    roots = ("resources", "placement", "store", "controllers", "api", "agent", "cli", "rmctl")
    here = [path for root in (*roots, "migrations") for path in (ROOT / root).rglob("*") if path.is_file()]
    tree = {str(path.relative_to(ROOT)) for path in here if "__pycache__" not in path.parts}
    wanted = {f"store/{name}" if name.startswith("migrations/") else name for name in tree}
    extra = {name for name in names if not name.startswith("rmctl-")} - wanted
    assert (wanted - names, {name for name in extra if name.partition("/")[0] not in roots}) == (set(), set())


def test_a_server_a_node_and_a_job_run_from_the_wheel(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(programs)
    where = subprocess.run([programs / "python", "-c", WHERE], check=True, capture_output=True, text=True).stdout
    assert [part.startswith(str(programs.parent)) for part in where.split()] == [True, True]
    with a_fleet([str(programs / "rmctl")]) as fleet:
        assert fleet.server().line.startswith("rmctl server ready")
        fleet.agent("mybox", "--capacity", "2")
        ran = fleet.rmctl("apply", "-f", "-", "--wait", stdin=BUNDLE)
        assert (ran.code, ran.out) == (0, "bundle/hello created\n"), ran.err
        assert fleet.rmctl("logs", "hello/main").out == "from the wheel\n"
        assert fleet.rmctl("version").out.split()[:1] == ["rmctl"]
