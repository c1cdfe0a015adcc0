"""Plugins in a process of their own: what they say counts as before, one that does not come back costs its nodes."""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog

from controllers.definitions.channel import Garbled
from controllers.plugins.answers import admission, heard, picks
from controllers.plugins.host import Host, Limits
from controllers.plugins.loading import load, sources
from controllers.runtime.outcomes import Stopped
from placement import WEIGHTED, Placed, PoolPolicy, plan
from placement.plugins import Plugin
from placement.ranking import with_scorers
from resources.validation import Invalid
from tests.definition_house import gone
from tests.placement_cards import a_gpu_node, gpus
from tests.placement_worlds import LOCAL, a_claim, a_fleet, a_node, a_request

PATIENT = Limits(answer_seconds=60, load_seconds=60, reload_seconds=60)
HASTY = replace(PATIENT, answer_seconds=1)
"""For rules that never come back."""
FLEET = a_fleet(a_node("a"), a_node("b"))
HEAD = """
import os, re, signal, socket, sys, time
from pathlib import Path
from rmctl.plugins import Plugin, Scorer
"""
GONE = "did not answer within 1 s, and is not asked for 60 s"


class House:
    """One host over one file, whose clock stands still."""

    def __init__(self, folder: Path, text: str, limits: Limits) -> None:
        self.path = folder / "plugin.py"
        self.path.write_text(HEAD + text)
        self.now = 1000.0
        self.host = Host([str(self.path)], lambda: self.now, limits)
        self.plugins: tuple[Plugin, ...] = ()

    def load(self) -> House:
        self.plugins = self.host.load()
        return self

    @property
    def pid(self) -> int:
        child = self.host._child
        assert child is not None
        return child._popen.pid

    def plan(self, fleet: Any = FLEET, **fields: Any) -> Any:
        return plan(a_request(**fields), fleet, under(self.plugins))

    def told(self, **fields: Any) -> dict[str, str]:
        return {one.node: one.text for one in self.plan(**fields).rejections}


def under(plugins: tuple[Plugin, ...]) -> PoolPolicy:
    scorers = [(scorer.id, scorer.weight) for plugin in plugins for scorer in plugin.scorers]
    return PoolPolicy(tiers=(LOCAL,), ranking=with_scorers(WEIGHTED, scorers), plugins=plugins)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Callable[..., House]]:
    made: list[House] = []

    def build(text: str, limits: Limits = PATIENT) -> House:
        made.append(House(tmp_path, text, limits))
        return made[-1].load()

    yield build
    for one in made:
        one.host.close()


def a_filter(body: str) -> str:
    return f"""
def rule(request, node):
    {body}
p = Plugin("p", filters={{"f": rule}})
"""


def test_what_plugins_say_there_counts_as_if_they_were_here(house):
    text = """
def in_order(request, node, able, wanted):
    return able[-wanted:]
def labelled(request, node):
    return None if node.label("rack") else f"no rack, and {len(node.claims)} on it"
p = Plugin(
    "p",
    filters={"racks": labelled, "raises": lambda request, node: 1 / 0 if node.name == "e" else None},
    scorers=(Scorer("s", lambda request, node: {"a": 0.1, "b": 1 / 3, "c": 7}.get(node.name), 0.5),),
    pickers={"gpu": in_order},
    admit=lambda request: "not tonight" if request.bundle == "night" else None,
)
"""
    there = house(text)
    here = load(sources([str(there.path)]))
    racks = {"rack": "r1"}
    fleet = a_fleet(
        *(a_gpu_node(name, 4, labels=racks, gpuModel="H100") for name in "abce"),
        a_gpu_node("d", 4, labels=racks),
        a_gpu_node("f", 4),
        claims=[a_claim("f"), a_claim("a", devices=(("gpu-03", 1000),))],
    )
    for request in (a_request(devices=(gpus(2),)), a_request(), a_request(bundle="night")):
        assert plan(request, fleet, under(there.plugins)) == plan(request, fleet, under(here))
    assert [one.id for one in there.plan(fleet, devices=(gpus(2),)).answer.devices] == ["gpu-02", "gpu-03"]


@pytest.mark.parametrize(
    "body",
    ["time.sleep(1e6)", "sum(range(10**12))", "re.match('(a+)+$', 'a' * 60 + 'b')", "exec('while True: pass')"],
    ids=["sleep", "sum", "regex", "loop"],
)
def test_a_rule_that_does_not_come_back_costs_its_nodes_and_no_others(house, body):
    """Each rule before it speaks for itself, and each other one too once there is a new child."""
    asked = house(
        f"""
def slow(request, node):
    if node.name != "c":
        {body}
first = Plugin("first", filters={{"first": lambda r, node: "is c" if node.name == "c" else None}})
second = Plugin("second", filters={{"slow": slow}})
third = Plugin("third", filters={{"third": lambda r, node: None}}, scorers=(Scorer("s", lambda r, node: 1),))
""",
        HASTY,
    )
    child = asked.pid
    assert asked.plan(a_fleet(a_node("c"))).rejections[0].text == "first: is c"
    assert asked.told() == {"a": f"slow: {GONE}", "b": f"slow: {GONE}"}
    assert asked.plan(a_fleet(a_node("c"))).rejections[0].text == "first: is c"
    assert gone(child)
    assert asked.pid != child


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("os._exit(3)", "ended its process with exit code 3, and is not asked for 60 s"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "ended its process with signal 11, and is not asked for 60 s"),
        ("x = bytearray(4 << 30)", "failed: MemoryError"),
        ("return 'x' * 5_000_000", "x" * 299 + "…"),
        ("return object()", "answered something of type object, neither None nor a reason"),
        ("sys.exit(3)", "failed: SystemExit: 3"),
        ("node.claims.clear()", "failed: AttributeError: 'mappingproxy' object has no attribute 'clear'"),
        ("while True: len('x')", "did not come to an end"),
    ],
)
def test_whatever_else_a_rule_does_is_its_nodes_reason(house, body, said):
    assert house(a_filter(body)).told() == {"a": f"f: {said}", "b": f"f: {said}"}


def test_what_a_rule_prints_goes_to_the_log_and_not_all_of_it(house):
    with structlog.testing.capture_logs() as told:
        asked = house(a_filter("print('looked at', node.name); print('y' * 1_000_000, file=sys.stderr)"))
        assert isinstance(asked.plan().answer, Placed)
        asked.host.close()
        for thread in threading.enumerate():
            if thread.name == "plugins-output":
                thread.join()
    printed = [one["text"] for one in told if one["event"] == "a plugin printed"]
    assert printed[:2] == ["looked at a", "y" * 300]
    assert len(printed) == 200


def test_a_rule_is_asked_again_after_a_while(house, tmp_path):
    flag = tmp_path / "stuck"
    flag.touch()
    asked = house(a_filter(f"Path({str(flag)!r}).exists() and time.sleep(1e6)"), HASTY)
    assert set(asked.told().values()) == {f"f: {GONE}"}
    flag.unlink()
    asked.now += 59
    assert set(asked.told().values()) == {f"f: {GONE}"}
    asked.now += 1
    assert isinstance(asked.plan().answer, Placed)


def test_a_rule_rests_in_the_pool_where_it_hung_and_in_all_once_those_are_three(house):
    asked = house(a_filter("request.pool == 'good' or time.sleep(1e6)"), HASTY)
    pools = {pool: a_fleet(a_node(f"{pool}-1", pool=pool)) for pool in ("one", "two", "three", "good")}

    def placed(pool: str) -> bool:
        return asked.plan(pools[pool], pool=pool).placed

    assert [placed(pool) for pool in ("one", "good", "two", "good", "three", "good")] == [False, True] * 2 + [False] * 2


def test_rules_that_together_take_too_long_over_one_plan_rest(house):
    asked = house(a_filter("return None"), replace(PATIENT, plan_seconds=5))
    ticks = iter(range(1000))
    asked.host._monotonic = lambda: next(ticks) * 2.0
    said = "f: and others together took more than 5 s for one job, and is not asked for 60 s"
    assert asked.plan(a_fleet(*map(a_node, "abcd"))).rejections[-1].text == said


def test_a_scorer_that_does_not_come_back_is_named(house):
    asked = house(
        'p = Plugin("p", scorers=(Scorer("s", lambda r, node: node.name == "a" and time.sleep(9e9)),))', HASTY
    )
    assert asked.told() == {"a": f"s: {GONE}", "b": f"s: {GONE}"}


def test_a_picker_that_does_not_come_back_is_named(house):
    asked = house('p = Plugin("p", pickers={"gpu": lambda *_: time.sleep(1e6)})', HASTY)
    fleet = a_fleet(a_gpu_node("a", 4), a_gpu_node("b", 2))
    done = asked.plan(fleet, devices=(gpus(2),))
    assert [one.text for one in done.rejections] == [f"pick: picker for gpu {GONE}"]
    assert done.answer.node == "b"  # there is nothing to choose there


def test_a_picker_that_picks_no_valid_set_costs_its_node(house):
    asked = house('p = Plugin("p", pickers={"gpu": lambda *_: [["gpu-00"]]})')
    done = asked.plan(a_fleet(a_gpu_node("a", 4)), devices=(gpus(2),))
    assert [one.text for one in done.rejections] == ["pick: picker for gpu returned no valid set"]


def test_a_word_on_admission_that_does_not_come_is_told(house):
    asked = house('p = Plugin("p", admit=lambda request: request.bundle == "ch" and time.sleep(1e6) or None)', HASTY)
    assert asked.plan().answer.reason == f"p: {GONE}"
    assert asked.plan(bundle="other").answer.reason == f"p: {GONE}"


def test_a_file_that_is_another_one_by_now_is_not_taken_for_the_first(house):
    asked = house(a_filter("os._exit(1)"))
    asked.told()
    asked.path.write_text(HEAD + 'p = Plugin("p", filters={"g": lambda request, node: None})')
    asked.now += 60
    said = "f: is another one by now, and this server must be started anew, and is not asked for 60 s"
    assert asked.told() == {"a": said, "b": said}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sum(range(10**12))", "not loaded within 1 s"),
        ("os._exit(3)", "ended its process with exit code 3 while it was loaded"),
        ("x = bytearray(4 << 30)", "MemoryError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_named(tmp_path, text, said):
    broken = House(tmp_path, text, replace(PATIENT, load_seconds=1 if "sum" in text else 60))
    with pytest.raises(Invalid) as refused:
        broken.load()
    assert str(refused.value) == f'settings.placement.plugins[0]: "{broken.path}": {said}'
    broken.host.close()


def test_a_server_that_can_start_no_process_says_so(house):
    asked = house(a_filter("os._exit(1)"))
    asked.told()
    asked.now += 60
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_files = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, hard))
    try:
        told = asked.told()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert told == {"a": "f: has no process: Too many open files", "b": "f: has no process: Too many open files"}


def test_without_plugins_nothing_is_started():
    host = Host([], lambda: 0.0)
    assert (host.load(), host._child) == ((), None)
    host.close()


KIND = """
def kind(descriptor):
    path = Path("/proc/self/fd", descriptor)
    return str(path.readlink()).partition(":")[0] if path.exists() or path.is_symlink() else ""
"""


def test_the_child_has_its_own_line_and_nothing_of_the_servers(house):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        os.set_inheritable(listening.fileno(), True)
        told = house(a_filter("return ' '.join(sorted(map(kind, os.listdir('/proc/self/fd'))))") + KIND).told()
    assert told["a"] == "f:  /dev/null /memfd pipe pipe pipe socket"


def test_a_host_that_is_closed_ends_a_rule_wherever_it_is(house, tmp_path):
    door = tmp_path / "door"
    os.mkfifo(door)
    asked = house(
        a_filter(f"Path({str(door)!r}).write_text('in'); sum(range(10**12))"), replace(PATIENT, answer_seconds=1e6)
    )
    child, raised = asked.pid, []

    def planned() -> None:
        try:
            asked.plan()
        except Stopped as stopped:
            raised.append(stopped)

    thread = threading.Thread(target=planned)
    thread.start()
    assert door.read_text() == "in"
    asked.host.close()
    thread.join()
    assert len(raised) == 1
    assert gone(child)
    with pytest.raises(Stopped):
        asked.plan()


def test_a_server_that_is_killed_takes_its_child_along(tmp_path):
    """Though the rule holds up every thread of the child."""
    door = tmp_path / "door"
    os.mkfifo(door)
    path = tmp_path / "plugin.py"
    path.write_text(HEAD + a_filter(f"Path({str(door)!r}).write_text(str(os.getpid())); sum(range(10**12))"))
    server = f"""
from tests.unit.controllers.test_plugin_host import *
host = Host([{str(path)!r}], lambda: 0.0, replace(PATIENT, answer_seconds=1e6))
plan(a_request(), FLEET, under(host.load()))
"""
    with subprocess.Popen([sys.executable, "-c", server]) as popen:
        child = os.pidfd_open(int(door.read_text()))
        popen.kill()
    select.select([child], [], [])
    os.close(child)
    assert popen.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (heard, {}),
        (heard, {"refused": 5, "why": "x"}),
        (heard, {"refused": "f", "why": None}),
        (heard, {"scores": {"s": 1 << 21}}),
        (heard, {"scores": {"s": True}}),
        (heard, {"scores": {"s": -1}}),
        (heard, {"scores": [1]}),
        (picks, {"picks": [["a"]]}),
        (picks, {"picks": "ab"}),
        (admission, {"said": True}),
        (admission, {}),
    ],
)
def test_what_is_no_answer_is_not_taken_for_one(read, said):
    with pytest.raises(Garbled):
        read(said)


def test_a_reason_is_bounded_on_this_side_too():
    assert heard({"refused": "f", "why": "x\n" * 1000}).why == ("x\\n" * 100)[:299] + "…"
