"""What the answers of probes add up to."""

from __future__ import annotations

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


def test_liveness_counts_from_ready_on():
    health = Health()
    for _ in range(9):
        health = liveness_answered(health, PROBE, BAD)
    assert health == Health()


def test_misses_of_its_liveness_in_a_row_end_it():
    health = after(None)
    said = []
    for problem in (BAD, BAD, None, BAD, BAD, BAD):
        health = liveness_answered(health, PROBE, problem)
        said.append(health.failed)
    assert said == ["", "", "", "", "", f"no longer alive: {BAD}"]
