"""What the answers of probes add up to."""

from __future__ import annotations

import pytest

from agent.health import Health, lived, liveness_answered, readiness_answered
from agent.order import Probe

PROBE = Probe(tcp=80, period_seconds=5, grace_seconds=60, failures=3)
BAD = "tcp 80 refuses"


def after(*answers: str | None, start: Health | None = None) -> Health:
    health = start or Health()
    for problem in answers:
        health = readiness_answered(health, PROBE, problem)
    return health


def test_without_a_probe_a_job_is_ready_once_it_has_lived_a_second():
    assert [lived(Health(), None, age).ready for age in (0, 0.99, 1, 5)] == [False, False, True, True]


def test_with_a_probe_only_a_good_answer_makes_it_ready():
    assert [lived(after(BAD, BAD, BAD, BAD), PROBE, 59).ready, after(BAD, None).ready] == [False, True]


def test_not_ready_within_its_grace_it_must_end():
    assert lived(after(BAD), PROBE, 60) == Health(failed=f"not ready within 60 s: {BAD}", detail=BAD)


def test_once_ready_the_grace_is_over():
    assert lived(after(None, BAD, BAD, BAD, BAD), PROBE, 1000).failed == ""


def test_misses_in_a_row_make_it_not_ready_and_one_good_answer_takes_that_back():
    two, three = after(None, BAD, BAD), after(None, BAD, BAD, BAD)
    assert [two.not_ready, three.not_ready, three.failed, after(None, start=three).not_ready] == [
        False,
        True,
        "",
        False,
    ]
    assert after(None, BAD, BAD, None, BAD).not_ready is False


def alive(*answers: tuple[str | None, float], start: Health | None = None) -> Health:
    """Answers of the liveness probe, each with the age of the instance."""
    health = after(None) if start is None else start
    for problem, age in answers:
        health = liveness_answered(health, PROBE, problem, age)
    return health


def test_liveness_counts_from_ready_on():
    assert alive(*[(BAD, 100.0)] * 9, start=Health()) == Health()


def test_misses_of_its_liveness_in_a_row_end_it():
    health = after(None)
    said = []
    for problem in (None, BAD, BAD, None, BAD, BAD, BAD):
        health = liveness_answered(health, PROBE, problem, 5)
        said.append(health.failed)
    assert said == ["", "", "", "", "", "", f"no longer alive: {BAD}"]


@pytest.mark.req("S15")
def test_a_liveness_that_never_answered_well_has_its_grace():
    """From the start of the instance on, whoever else was restarted meanwhile."""
    early = alive(*[(BAD, 5.0 * n) for n in range(1, 12)])
    assert (early.failed, early.lively_misses) == ("", 0)
    assert alive((BAD, 60), (BAD, 65), start=early).failed == ""
    assert alive((BAD, 60), (BAD, 65), (BAD, 70), start=early).failed == f"no longer alive: {BAD}"
    assert alive((None, 10), (BAD, 15), (BAD, 20), (BAD, 25)).failed == f"no longer alive: {BAD}"
