"""What a job's pass sees of the nodes that hold something of it."""

from __future__ import annotations

import pytest

from controllers.jobs.view import JobView, NodeState, state_of
from resources.facts import Inventory, NodeFacts
from resources.node import Node, NodePhase, NodeSpec, NodeStatus
from resources.reference import Ref

SINCE = 1000.0


@pytest.mark.parametrize(
    ("phase", "connected", "heard", "silent", "lost", "within_reach"),
    [
        ("running", True, 900.0, False, False, True),
        ("running", False, 900.0, False, False, False),
        ("silent", False, 900.0, True, False, False),
        ("silent", True, 900.0, True, False, False),
        ("lost", True, 900.0, True, True, False),
        ("lost", True, 1001.0, False, False, True),
        ("lost", False, 1001.0, True, True, False),
    ],
)
def test_a_node_is_back_when_it_is_heard_and_an_open_stream_alone_says_nothing(
    phase: NodePhase, connected: bool, heard: float, silent: bool, lost: bool, within_reach: bool
) -> None:
    since = SINCE if phase in ("silent", "lost") else None
    node = Node(Ref("node", "n"), "u", 1, 1, NodeSpec(pool="p"), NodeStatus(phase=phase, silent_since=since))
    state = state_of(node, NodeFacts("n", "b", Inventory(1, 1), heard, connected=connected))
    assert (state.silent, state.lost, state.connected) == (silent, lost, within_reach)


def test_a_node_that_is_registered_no_longer_is_given_up() -> None:
    assert JobView().node("n") == NodeState("n", silent=True, lost=True, given_up=True, connected=False)
