"""Run the measurements and print each figure beside its goal."""

from __future__ import annotations

import importlib
import sys

SUITES = ("store", "cycle", "placement", "client", "start", "agents")


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - set(SUITES))
    if unknown:
        print(f"bench: no suite {', '.join(unknown)}; there are {', '.join(SUITES)}", file=sys.stderr)
        return 2
    print(f"{'what':<24}{'measured':<48}{'goal':<36}holds")
    for name in names or SUITES:
        for figure in importlib.import_module(f"tests.bench.{name}").measure():
            holds = {True: "yes", False: "no", None: "-"}[figure.ok]
            print(f"{figure.name:<24}{figure.figure:<48}{figure.goal:<36}{holds}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
