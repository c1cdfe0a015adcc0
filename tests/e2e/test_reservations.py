"""Reservations by the command line: booked, in the way of jobs, previewed, freed at their end."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.fleet import Fleet, a_fleet


def cards(count: int) -> str:
    ids = [f"GPU-{at}" for at in range(count)]
    return json.dumps([{"id": one, "class": "gpu", "links": [other for other in ids if other != one]} for one in ids])


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with a_fleet() as made:
        made.server()
        (made.folder / "devices.json").write_text(cards(4))
        made.agent("box", "--capacity", "4", "--devices", str(made.folder / "devices.json"))
        assert made.rmctl("wait", "node/box").code == 0
        yield made


def test_cards_are_booked_and_the_next_one_waits_until_they_are_free(fleet: Fleet) -> None:
    booked = fleet.rmctl("reserve", "big", "--gpus", "3", "--nvlink", "--for", "3d")
    assert (booked.code, booked.out) == (0, "reservation/big booked on box: GPU-0, GPU-1, GPU-2\n"), booked.err
    waits = fleet.rmctl("reserve", "late", "--gpus", "2")
    sentence = "no node fits (1 nodes): 1 × fits: 1 of 2 gpu free"
    assert (waits.code, waits.out) == (6, f"reservation/late waits: {sentence}\n"), waits.err
    assert fleet.rmctl("delete", "reservation/big").code == 0
    assert fleet.rmctl("wait", "reservation/late", "--for=condition=Booked").code == 0
    assert fleet.rmctl("get", "reservation/late", "-o", "jsonpath={.status.phase}").out.strip() == "active"
    assert fleet.rmctl("delete", "reservation/late").code == 0
    assert fleet.rmctl("wait", "reservation/late", "--for=delete").code == 0


def test_one_for_a_time_ends_by_itself(fleet: Fleet) -> None:
    booked = fleet.rmctl("reserve", "short", "--gpus", "4", "--for", "1s")
    assert booked.code == 0, booked.err
    ended = fleet.rmctl("wait", "reservation/short", "--for=jsonpath={.status.phase}=expired")
    assert ended.code == 0, ended.err
    again = fleet.rmctl("reserve", "again", "--gpus", "4")
    assert again.code == 0, again.err
    for name in ("short", "again"):
        assert fleet.rmctl("delete", f"reservation/{name}").code == 0


@pytest.mark.req("P136", "P139", "P144")
def test_a_preview_stores_nothing_and_names_what_is_then_booked(fleet: Fleet) -> None:
    asked = ("reserve", "next", "--gpus", "2", "--nvlink", "--for", "1h")
    seen = fleet.rmctl(*asked, "--dry-run", "-o", "json")
    assert seen.code == 0, seen.err
    preview = json.loads(seen.out)
    assert (preview["fits"], preview["candidates"][0]["node"]) == (True, "box")
    assert fleet.rmctl("get", "reservation/next").code == 3
    booked = fleet.rmctl(*asked)
    assert booked.out == f"reservation/next booked on box: {', '.join(preview['candidates'][0]['atoms'])}\n"
    too_many = fleet.rmctl("reserve", "--gpus", "9", "--dry-run", "-o", "json")
    assert too_many.code == 6
    assert json.loads(too_many.out) == {
        "fits": False,
        "candidates": [],
        "reason": "no node fits (1 nodes): 1 × fits: 2 of 9 gpu free",
    }
    assert fleet.rmctl("delete", "reservation/next").code == 0


@pytest.mark.req("P6", "PA2")
def test_what_asks_for_nothing_or_says_what_no_reservation_has_is_refused(fleet: Fleet) -> None:
    nothing = fleet.rmctl("reserve", "none")
    assert (nothing.code, "devices: ask for at least one device or amount" in nothing.err) == (2, True), nothing.err
    labels = {"apiVersion": "rmctl/v1", "kind": "reservation", "metadata": {"name": "x"}}
    labels["spec"] = {"pool": "default", "devices": [{"class": "gpu", "count": 1}], "nodeLabels": {"a": "b"}}
    refused = fleet.rmctl("apply", "-f", "-", stdin=json.dumps(labels))
    assert (refused.code, "unknown field spec.nodeLabels" in refused.err) == (2, True), refused.err
