"""The processor that a server stays on: chosen by what others want, left to children, and never forced."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from controllers.runtime.processor import better, busy

STAT = """cpu  30 0 20 100 7 1 2 3 0 0
cpu0 10 5 20 100 7 1 2 3 0 0
cpu1 200 0 0 100 7 0 0 0 50 0
cpu10 7 0 0 0 0 0 0 0 0 0
intr 1 2 3
"""
STAYS = """
import json, os, subprocess, sys, threading
from controllers.runtime.processor import SERVER
before = sorted(os.sched_getaffinity(0))
going, on = threading.Event(), []
def earlier():
    going.wait()
    on.append(sorted(os.sched_getaffinity(0)))
thread = threading.Thread(target=earlier)
thread.start()
SERVER.stay()
going.set()
thread.join()
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
SERVER.let_go(child.pid)
left = sorted(os.sched_getaffinity(child.pid))
child.communicate(b"\\n")
print(json.dumps([before, sorted(os.sched_getaffinity(0)), on[0], left]))
"""


def test_busy_is_everything_but_idling_and_waiting_for_a_disk():
    tick = os.sysconf("SC_CLK_TCK")
    assert busy(STAT, {0, 1}) == {0: 41 / tick, 1: 200 / tick}


@pytest.mark.parametrize(
    ("mine", "wanted", "expected"),
    [
        (0, {0: 0.0, 1: 0.0}, 0),
        (0, {0: 0.9, 1: 0.1}, 1),
        (0, {0: 0.3, 1: 0.1}, 0),
        (1, {0: 0.1, 1: 0.9, 2: 0.0}, 2),
        (5, {}, 5),
    ],
)
def test_a_move_is_made_only_where_it_pays(mine, wanted, expected):
    assert better(mine, wanted) == expected


def test_all_threads_stay_on_one_processor_and_a_child_does_not():
    said = subprocess.run([sys.executable, "-c", STAYS], check=True, capture_output=True, text=True).stdout
    before, now, thread, child = json.loads(said)
    assert len(now) == 1
    assert set(now) <= set(before)
    assert thread == now
    assert child == before
