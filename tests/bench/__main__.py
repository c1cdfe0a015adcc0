"""Run the measurements and print each figure beside its goal."""

from __future__ import annotations

import importlib
import logging
import os
import sys

import structlog

from controllers.runtime.environment import settle_in

SUITES = ("store", "cycle", "queue", "size", "memory", "placement", "devices", "client", "start", "lost", "agents")


def main(words: list[str]) -> int:
    """`NAME` or `NAME=AMOUNT`: `size=1000000`."""
    asked = [word.partition("=") for word in words or SUITES]
    unknown = sorted({name for name, _, _ in asked} - set(SUITES))
    if unknown:
        print(f"bench: no suite {', '.join(unknown)}; there are {', '.join(SUITES)}", file=sys.stderr)
        return 2
    _as_a_server()
    print(f"{'what':<24}{'measured':<60}{'goal':<40}holds")
    for name, _, amount in asked:
        measure = importlib.import_module(f"tests.bench.{name}").measure
        for figure in measure(int(amount)) if amount else measure():
            holds = {True: "yes", False: "no", None: "-"}[figure.ok]
            print(f"{figure.name:<24}{figure.figure:<60}{figure.goal:<40}{holds}", flush=True)
    return 0


def _as_a_server() -> None:
    """The interpreter as a server has it, and its log written as a server's is, to nowhere."""
    settle_in()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(file=open(os.devnull, "w")),  # noqa: PTH123, SIM115 - open to the end
        cache_logger_on_first_use=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
