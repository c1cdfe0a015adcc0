"""Resources that were stored under other models than the definition has today."""

from __future__ import annotations

from typing import Any

import pytest

from rmctl import Result, Spec, Status, resource_manager
from rmctl.testing import Trial


class Place(Spec):
    path: str = ""
    mode: int = 0


class Before(Spec):
    place: Place = Place()
    size: int = 1


class Told(Status):
    seen: int = 0


class Path(Spec):
    path: str = ""


class NestedLess(Spec):
    place: Path = Path()
    size: int = 1


class Less(Spec):
    place: Place = Place()


class More(Before):
    must: str


class Other(Spec):
    place: Place = Place()
    size: list[str] = ["none"]  # noqa: RUF012  pydantic copies it


class Needing(Status):
    must: int


class Renamed(Status):
    looked: str = ""


def settles(ctx: Any, resource: Any) -> Result:
    return ctx.settled({"seen": 7}, finalizers=["a/b"])


def lets_go(ctx: Any, resource: Any) -> Result:
    ctx.event("Cleaned", f"{resource.spec.place.path} {resource.status!r}")
    return ctx.settled(finalizers=[])


def changed(trial: Trial, **models: Any) -> None:
    """The definition's file is written anew."""
    wanted = {"spec": Before, "status": Told, **models}
    trial._runners._definition = resource_manager("gadget", **wanted)(lets_go)


@pytest.fixture
def trial() -> Any:
    with Trial(resource_manager("gadget", spec=Before, status=Told)(settles)) as trial:
        trial.apply("g", {"place": {"path": "here", "mode": 4}, "size": 2})
        trial.run()
        yield trial


@pytest.mark.req("T11", "T48")
@pytest.mark.parametrize(
    ("models", "status"),
    [
        ({"spec": Less}, "Told(seen=7)"),
        ({"spec": NestedLess}, "Told(seen=7)"),
        ({"spec": More}, "Told(seen=7)"),
        ({"spec": Other}, "Told(seen=7)"),
        ({"status": Renamed}, "Renamed(looked='')"),
        ({"status": Needing, "initial_status": lambda spec: {"must": spec.size}}, "Needing(must=2)"),
        ({"spec": Less, "status": Needing, "initial_status": lambda spec: {"must": spec.size}}, "Needing()"),
    ],
    ids=["less", "less inside", "more", "another type", "renamed", "initial", "not even initial"],
)
def test_what_was_stored_under_other_models_can_go(trial: Trial, models: dict[str, Any], status: str) -> None:
    changed(trial, **models)
    trial.delete("g")
    trial.run()
    assert trial.get("g") is None
    assert f"Cleaned: here {status}" in trial.events("g")


@pytest.mark.req("T48")
def test_a_field_that_the_model_has_no_more_is_passed_over(trial: Trial) -> None:
    changed(trial, spec=NestedLess)
    trial.wake("g")
    trial.run()
    assert trial.events("g")[0] == "Cleaned: here Told(seen=7)"


@pytest.mark.req("T48")
def test_a_field_that_does_not_fit_fails_the_pass_of_what_stays(trial: Trial) -> None:
    changed(trial, spec=Other)
    trial.wake("g")
    trial.run()
    assert trial.events("g")[0] == "ReconcileFailed: Invalid: spec.size: expected a list, got 2"
