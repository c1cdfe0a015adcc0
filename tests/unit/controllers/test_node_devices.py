"""The devices of a node as its pass counts them: sick at once, well again after a while."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controllers.runtime.decision import Decision
from resources.devices import Booking, Device
from resources.reference import Ref
from tests.controllers_node import NOW, NodeStage, a_claim, facts

CARDS = tuple(Device(f"gpu-{at}", "gpu", {"gpuModel": "H100"}) for at in range(3))


def reporting(on: NodeStage, *sick: int, at: float) -> Decision:
    """A Hello that says which cards are sick, and the pass that follows."""
    told = tuple(replace(card, healthy=number not in sick) for number, card in enumerate(CARDS))
    on.facts = facts(NOW + at, devices=told)
    return on.at(at)


def well(on: NodeStage) -> list[int]:
    return [number for number, card in enumerate(on.devices) if card.healthy]


def test_one_sick_card_leaves_the_others_and_counts_at_once() -> None:
    on = NodeStage()
    reporting(on, at=0)
    assert well(on) == [0, 1, 2]
    reporting(on, 1, at=1)
    assert well(on) == [0, 2]
    assert [gpu.healthy for gpu in on.node.status.gpus] == [True, False, True]


def test_a_card_that_was_sick_counts_again_after_it_was_well_for_a_while() -> None:
    on = NodeStage(pool={"health": {"deviceStableMs": 10_000}})
    reporting(on, 1, at=0)
    decision = reporting(on, at=5)
    assert well(on) == [0, 2]
    assert decision.requeue_after == 10
    reporting(on, at=14.9)
    assert well(on) == [0, 2]
    reporting(on, at=15)
    assert well(on) == [0, 1, 2]


def test_a_card_that_flaps_never_counts() -> None:
    on = NodeStage(pool={"health": {"deviceStableMs": 10_000}})
    for at in range(0, 60, 10):
        reporting(on, 1, at=at)
        reporting(on, at=at + 5)
        assert well(on) == [0, 2]


@pytest.mark.req("F204", "F207", "F415")
def test_what_is_reserved_of_a_card_is_the_sum_of_what_was_placed_on_it() -> None:
    claims = [replace(a_claim(), id=str(n), devices=(Booking("gpu-1", units),)) for n, units in enumerate((300, 250))]
    on = NodeStage(claims=claims)
    reporting(on, at=0)
    assert [(gpu.index, gpu.id, gpu.model, gpu.reserved) for gpu in on.node.status.gpus] == [
        (0, "gpu-0", "H100", 0),
        (1, "gpu-1", "H100", 0.55),
        (2, "gpu-2", "H100", 0),
    ]


def test_a_reservation_is_no_job_of_its_node() -> None:
    booked = replace(a_claim(), id="r", owner=Ref("reservation", "night", "default"))
    on = NodeStage(claims=[a_claim(), booked])
    on.run()
    assert on.node.status.jobs == ("ch/primary/web",)


def test_a_booking_holds_its_card_from_its_begin_on_and_the_node_looks_again_then() -> None:
    night = Ref("reservation", "night", "default")
    later = replace(a_claim(), id="r", owner=night, devices=(Booking("gpu-1", 1000),), starts_at=NOW + 7)
    on = NodeStage(claims=[later])
    decision = reporting(on, at=0)
    assert [gpu.reserved for gpu in on.node.status.gpus] == [0, 0, 0]
    assert decision.requeue_after == 7
    assert reporting(on, at=7).requeue_after != 0
    assert [gpu.reserved for gpu in on.node.status.gpus] == [0, 1, 0]


def test_a_card_that_left_the_list_while_it_proved_itself_begins_anew_with_its_return() -> None:
    on = NodeStage(pool={"health": {"deviceStableMs": 10_000}})
    reporting(on, 1, at=0)
    reporting(on, at=5)
    on.facts = facts(NOW + 6, devices=(CARDS[0], CARDS[2]))
    on.at(6)
    assert [card.id for card in on.devices] == ["gpu-0", "gpu-2"]
    on.at(20)
    reporting(on, at=30)
    assert well(on) == [0, 2]
    reporting(on, at=39.9)
    assert well(on) == [0, 2]
    reporting(on, at=40)
    assert well(on) == [0, 1, 2]
    assert on.node.status.devices_well_since == {}


def test_a_card_that_has_gone_for_a_day_is_forgotten() -> None:
    on = NodeStage(pool={"health": {"deviceStableMs": 10_000}})
    reporting(on, 1, at=0)
    on.facts = facts(NOW + 6, devices=(CARDS[0], CARDS[2]))
    on.at(6)
    assert on.node.status.devices_well_since == {"gpu-1": NOW + 6}
    reporting(on, at=86_406)
    assert well(on) == [0, 1, 2]
