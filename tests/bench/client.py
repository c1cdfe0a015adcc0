"""B12: what a call of rmctl costs beside what it cannot do without: the interpreter and the libraries it imports."""

from __future__ import annotations

import subprocess
import sys

from tests.bench.figures import Figure, interleaved
from tests.fleet import Fleet, a_fleet

ROUNDS = 25
RMCTL = (sys.executable, "-c", "import sys; from cli.main import main; sys.exit(main())")
FLOOR = (sys.executable, "-c", "import typer, http.client, json")
TYPER = (sys.executable, "-c", "import typer")


def measure() -> list[Figure]:
    with a_fleet() as fleet:
        fleet.server()
        return list(_figures(fleet))


def _figures(fleet: Fleet) -> list[Figure]:
    environment = compiled(fleet)

    def once(*line: str) -> int:
        subprocess.run(line, env=environment, stdout=subprocess.DEVNULL, check=True)
        return 1

    for line in (FLOOR, (*RMCTL, "get", "pools"), (*RMCTL, "get", "resources")):
        once(*line)
    floor, typer, pools, everything, version = (
        1000 / rate
        for rate in interleaved(
            ROUNDS,
            lambda: once(*FLOOR),
            lambda: once(*TYPER),
            lambda: once(*RMCTL, "get", "pools"),
            lambda: once(*RMCTL, "get", "resources"),
            lambda: once(*RMCTL, "--version"),
        )
    )
    return [
        _figure("B12 get pools", pools, floor, "≤ 1.25 × its imports", 1.25),
        _figure("B12 get resources", everything, floor, "≤ 1.25 × its imports", 1.25),
        _figure("B12 --version", version, typer, "≤ 1.1 × import typer", 1.1),
    ]


def compiled(fleet: Fleet) -> dict[str, str]:
    """An environment with a place for bytecode, as an installed rmctl has it: nobody compiles it at every call."""
    environment = {**fleet.environment, "PYTHONPYCACHEPREFIX": str(fleet.folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def _figure(name: str, taken: float, floor: float, goal: str, most: float) -> Figure:
    return Figure(name, f"{taken / floor:.2f} × ({taken:.0f} of {floor:.0f} ms)", goal, taken <= most * floor)
