"""Reservations by the command line: booked, in the way of jobs, previewed, freed at their end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet import Fleet, a_fleet

SPEC = {"pool": "default", "devices": [{"class": "gpu", "count": 2}], "idempotencyKey": "once"}


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
    booked = fleet.rmctl("reserve", "short", "--gpus", "4", "--for", "10s")
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


@pytest.mark.req("P6", "PA2", "P55")
def test_what_asks_for_nothing_or_says_what_no_reservation_has_is_refused(fleet: Fleet) -> None:
    nothing = fleet.rmctl("reserve", "none")
    assert (nothing.code, "devices: ask for at least one device or amount" in nothing.err) == (2, True), nothing.err
    labels = {"apiVersion": "rmctl/v1", "kind": "reservation", "metadata": {"name": "x"}}
    labels["spec"] = {"pool": "default", "devices": [{"class": "gpu", "count": 1}], "nodeLabels": {"a": "b"}}
    refused = fleet.rmctl("apply", "-f", "-", stdin=json.dumps(labels))
    assert (refused.code, "unknown field spec.nodeLabels" in refused.err) == (2, True), refused.err


@pytest.mark.req("P137")
def test_a_preview_takes_what_a_reservation_takes_and_keeps_none_of_it(fleet: Fleet) -> None:
    document = {"apiVersion": "rmctl/v1", "kind": "reservation", "metadata": {"name": "seen"}, "spec": SPEC}
    seen = fleet.rmctl("plan", "-f", "-", stdin=json.dumps(document))
    assert (seen.code, "→ box  GPU-0, GPU-1" in seen.out) == (0, True), seen.out + seen.err
    assert fleet.rmctl("get", "reservation/seen").code == 3
    wrong = {**document, "spec": {**SPEC, "idempotencyKey": ""}}
    refused = fleet.rmctl("plan", "-f", "-", stdin=json.dumps(wrong))
    assert (refused.code, "spec.idempotencyKey: must not be empty" in refused.err) == (2, True), refused.err


def test_a_pool_whose_reservations_are_planned_together_books_them_all(tmp_path: Path) -> None:
    config = tmp_path / "server.toml"
    config.write_text('[placement]\nplacer = "pool-lease"\nmaxBatch = 2\n')
    with a_fleet() as made:
        made.server("--config", str(config))
        (made.folder / "devices.json").write_text(cards(4))
        made.agent("box", "--capacity", "4", "--devices", str(made.folder / "devices.json"))
        assert made.rmctl("wait", "node/box").code == 0
        for number in range(4):
            booked = made.rmctl("reserve", f"r{number}", "--gpus", "1")
            assert booked.code == 0, booked.out + booked.err
        assert made.rmctl("reserve", "r4", "--gpus", "1").code == 6
        assert made.rmctl("delete", "reservation/r0").code == 0
        assert made.rmctl("wait", "reservation/r4", "--for=condition=Booked").code == 0


def training(name: str, count: int) -> str:
    asks = {"requiredCapacity": 0.1, "devices": [{"class": "gpu", "count": count}], "onRuntimeFailure": "avoidSpare"}
    job = {"jobName": "fit", "command": ["sh", "-c", "echo $RM_DEVICES; exec sleep 1000"], "requirements": asks}
    bundle = {"apiVersion": "rmctl/v1", "kind": "bundle", "metadata": {"name": name}}
    return json.dumps({**bundle, "spec": {"pool": "default", "jobs": [job]}})


def test_a_job_runs_in_the_reservation_that_is_meant_for_it_and_leaves_at_its_end(fleet: Fleet) -> None:
    booked = fleet.rmctl("reserve", "night", "--gpus", "3", "--for", "24s", "--holder", "train")
    assert booked.code == 0, booked.out + booked.err
    planned = fleet.rmctl("plan", "-f", "-", stdin=training("train", 2))
    assert "in its reservation night" in planned.out, planned.out + planned.err
    ran = fleet.rmctl("apply", "-f", "-", "--wait", stdin=training("train", 2))
    assert ran.code == 0, ran.err
    assert fleet.rmctl("logs", "train/fit").out == "GPU-0,GPU-1\n"
    assert "in its reservation night until" in fleet.rmctl("why", "job/train/primary/fit").out
    assert fleet.rmctl("apply", "-f", "-", stdin=training("stranger", 2)).code == 0
    refused = fleet.rmctl("wait", "job/stranger/primary/fit", "--for=condition=Unschedulable")
    assert refused.code == 0, refused.err
    assert "1 of 2 gpu free" in fleet.rmctl("why", "job/stranger/primary/fit").out
    left = fleet.rmctl("wait", "job/train/primary/fit", "--for=jsonpath={.status.reservation}=", "--timeout", "60s")
    assert left.code == 0, left.out + left.err
    for name in ("train", "stranger"):
        runs = fleet.rmctl("wait", f"job/{name}/primary/fit", "--timeout", "60s")
        assert runs.code == 0, runs.out + runs.err
    assert sorted(fleet.rmctl("logs", f"{name}/fit").out.split()[-1] for name in ("train", "stranger")) == [
        "GPU-0,GPU-1",
        "GPU-2,GPU-3",
    ]
    for name in ("bundle/train", "bundle/stranger", "reservation/night"):
        assert fleet.rmctl("delete", name).code == 0
