"""Specs that nobody should be able to store, sent as they are to the server: named, and nothing is kept of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import func, select

from resources.event import Event
from resources.reference import Ref
from store import events
from store.errors import TooLarge
from store.tables import metadata
from tests.http_serving import API, Served, a_document, serving

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as found:
        found.put_pool()
        yield found


def a_job(name: str = "web", *, requirements: Any = None, **more: Any) -> dict[str, Any]:
    needs = {"requiredCapacity": 1, "onRuntimeFailure": "avoidSpare", **(requirements or {})}
    return {"jobName": name, "command": ["x"], "requirements": needs, **more}


def rows(served: Served) -> dict[str, int]:
    """Of every table."""
    with served.store.read() as tx:
        return {
            name: tx.execute(select(func.count()).select_from(table)).scalar_one()
            for name, table in metadata.tables.items()
        }


def with_needs(**needs: Any) -> list[dict[str, Any]]:
    return [a_job(requirements=needs)]


CASES = [
    ([a_job(command=["x", *["y" * 1000] * 3200])], "spec", "limit is 1048576 (1 MiB)"),
    ([a_job(env={f"N{i}": "v" for i in range(200_000)})], "spec", "limit is 1048576 (1 MiB)"),
    ([a_job(workingDir="../x")], "spec.jobs[0].workingDir", "must stay inside the job directory"),
    ([a_job(workingDir="/etc")], "spec.jobs[0].workingDir", "must stay inside the job directory"),
    ([a_job(runAs=0)], "spec.jobs[0].runAs", "expected text, got 0"),
    ([a_job(runAs=4294967295)], "spec.jobs[0].runAs", "expected text, got 4294967295"),
    (
        with_needs(requiredMemoryMiB="1.5.Gi"),
        "spec.jobs[0].requirements.requiredMemoryMiB",
        "expected an integer, got text",
    ),
    (with_needs(requiredMemoryMiB=-1), "spec.jobs[0].requirements.requiredMemoryMiB", "must be >= 0"),
    (with_needs(requiredMemoryMiB=9e99), "spec.jobs[0].requirements.requiredMemoryMiB", "expected an integer"),
    ([a_job(coLocateWith=["web"])], "spec.jobs[0].coLocateWith", "web → web"),
    (
        [a_job("a"), a_job("b", coLocateWith=["a"], separateFrom=["a"])],
        "spec.jobs[1].coLocateWith",
        '"a" is in separateFrom too',
    ),
    (
        [
            a_job("a", coLocateWith=["b"], separateFrom=["c"]),
            a_job("b", coLocateWith=["c"]),
            a_job("c", coLocateWith=["a"]),
        ],
        "spec.jobs[0].separateFrom",
        "a → c",
    ),
    ([a_job(f"j{i}") for i in range(65)], "spec.jobs", "at most 64"),
    (
        [a_job(schedule={"cron": "61 * * * *"})],
        "spec.jobs[0].schedule.cron",
        '"61 * * * *" is no schedule that ever comes',
    ),
    (
        [a_job(schedule={"cron": "* * 31 2 *"})],
        "spec.jobs[0].schedule.cron",
        '"* * 31 2 *" is no schedule that ever comes',
    ),
    (
        [a_job(schedule={"cron": "* * * * *", "timeZone": "Mars/X"})],
        "spec.jobs[0].schedule.timeZone",
        '"Mars/X" is no time zone',
    ),
    ([a_job(endpoint_url="http://x")], "spec.jobs[0].endpoint_url", "unknown field"),
    (
        [a_job(readiness={"http": "http://169.254.169.254/x"})],
        "spec.jobs[0].readiness.http",
        "scheme or host not allowed",
    ),
    (
        [a_job(readiness={"http": "file:///etc/passwd"})],
        "spec.jobs[0].readiness.http",
        "scheme or host not allowed",
    ),
    (
        [a_job(readiness={"http": "gopher://x/"})],
        "spec.jobs[0].readiness.http",
        "scheme or host not allowed",
    ),
]


@pytest.mark.req("B55", "B59", "B61", "B62", "B65", "B69", "B70", "B73", "B75", "B77")
@pytest.mark.parametrize(("jobs", "field", "message"), CASES)
def test_a_bad_spec_is_named_and_nothing_of_it_is_stored(served, jobs, field, message):
    before = rows(served)
    answer = served.apply(a_document(spec={"pool": "local", "jobs": jobs}))
    assert answer.status_code == 422, answer.text
    cause = answer.json()["details"]["causes"][0]
    assert (cause["field"], message in cause["message"]) == (field, True), cause
    assert rows(served) == before


@pytest.mark.parametrize(
    ("cron", "zone"), [("0 4 * * 1", "UTC"), ("*/5 * * * *", "Europe/Madrid"), ("0 0 29 2 *", "UTC")]
)
def test_schedules_that_come_round_are_taken(served, cron, zone):
    document = a_document(spec={"pool": "local", "jobs": [a_job(schedule={"cron": cron, "timeZone": zone})]})
    assert served.apply(document, dryRun="All").status_code == 200


@pytest.mark.req("B20")
def test_a_body_over_the_limit_speaks_of_the_limit_of_a_spec(served):
    before = rows(served)
    answer = served.client.post(
        f"{API}/batch", content=b" " * (5 * MIB + 1), headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, "1048576 (1 MiB)" in answer.json()["message"]) == (413, True)
    assert rows(served) == before


@pytest.mark.req("B108")
def test_an_event_has_a_limit_too(served):
    payload = {"x": "y" * (64 * 1024)}
    with pytest.raises(TooLarge, match="event payload limit is 65536 bytes"):
        served.store.write(lambda tx: events.add(tx, Ref("pool", "local"), "u", Event("X", "x", payload=payload)))
