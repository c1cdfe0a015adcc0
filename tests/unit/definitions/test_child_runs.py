"""Child runs as a resource asks for them: one a key, found again, ended by who was asked, gone with the parent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from api.http.problems import Problem
from api.http.runs import controlled, forked
from api.http.why import why
from cli.diagnoses import Finding, database
from controllers.definitions.context import Cancellation
from controllers.definitions.workflows import execute
from resources.reference import Ref
from resources.workflow_run import Completion, RunRecord
from rmctl import Spec, resource_manager, workflow
from rmctl.testing import Clock, Trial
from store import diagnosis, holds, resources, workflow_runs, workflow_steps
from store.tx import Tx


class SiteSpec(Spec):
    branch: str = "main"


Input = Callable[[Any], dict[str, Any]]


def a_site(
    *, key: str = "build", workflow: str = "build", given: Input = lambda one: {"branch": one.spec.branch}
) -> Trial:
    """A resource that wants one thing built, and says how that goes."""

    def reconcile(ctx: Any, resource: Any) -> Any:
        if resource.deleting:
            return ctx.settled(finalizers=[])
        run = ctx.workflows.ensure(key=key, workflow=workflow, input=given(resource))
        reason = run.state.title()
        return ctx.settled({"got": run.result}, conditions=[ctx.condition_true("Ready", reason, run.error)])

    trial = Trial(resource_manager("site", spec=SiteSpec)(reconcile))
    trial.apply("s", {})
    trial.run()
    return trial


def ready(trial: Trial) -> str:
    seen = trial.get("s")
    assert seen is not None
    return seen.condition("Ready")


@pytest.mark.req("T41", "T42", "CW1")
def test_ten_passes_find_the_one_run_that_was_recorded_before_anybody_ran_it() -> None:
    with a_site() as trial:
        for _ in range(10):
            trial.wake("s")
            trial.run()
        (run,) = trial.runs("s")
        assert (run.key, run.attempt, run.state, run.input) == ("build", 1, "pending", {"branch": "main"})
        seen = trial.get("s")
        assert seen is not None
        assert seen.status["workflowRun"] == {
            "requestId": "build", "runId": run.run_id, "state": "pending", "attempt": 1,
        }  # fmt: skip
        with trial._store.read() as tx:
            assert workflow_runs.due(tx) == (run.run_id,)


@pytest.mark.req("T41", "CW6")
def test_another_input_under_the_same_key_is_an_error_that_names_both() -> None:
    with a_site() as trial:
        trial.apply("s", {"branch": "other"})
        trial.run()
        assert trial.events("s")[0].startswith("ReconcileFailed: EffectMismatch: ")
        assert len(trial.runs("s")) == 1


@pytest.mark.req("T41")
def test_an_async_reconcile_awaits_it() -> None:
    async def reconcile(ctx: Any, _resource: Any) -> Any:
        run = await ctx.workflows.ensure(key="k", workflow="build", input={})
        return ctx.settled({"got": run.state})

    with Trial(resource_manager("site", spec=SiteSpec)(reconcile)) as trial:
        trial.apply("s", {})
        trial.run()
        seen = trial.get("s")
        assert seen is not None
        assert seen.status["got"] == "pending"


def test_an_async_run_that_forgets_to_await_a_step_fails_and_says_so() -> None:
    async def build(ctx: Any, _given: Any) -> None:
        ctx.step("compile", lambda: "done")

    asked: list[Any] = []
    said = execute(workflow("build")(build), {"input": {}}, asked.append, Clock(), Cancellation())
    why = "NotAwaited: ctx.step of compile was not awaited: write await before it"
    assert (said, asked) == ({"failed": why}, [])


@pytest.mark.req("T43", "T44")
def test_an_end_wakes_the_parent_which_reads_the_result() -> None:
    with a_site() as trial:
        assert trial.run() == 0
        trial.finish("s", "build", {"url": "x"})
        assert trial.run() == 1
        seen = trial.get("s")
        assert seen is not None
        assert (ready(trial), seen.status["got"]) == ("True/Succeeded", {"url": "x"})


@pytest.mark.req("T43", "CW4")
def test_a_failed_run_stays_failed_until_it_is_asked_for_under_another_key() -> None:
    with a_site() as trial:
        trial.fail("s", "build", "tests are red")
        trial.run()
        trial.wake("s")
        trial.run()
        assert ready(trial) == "True/Failed"
        assert [(one.attempt, one.state, one.error) for one in trial.runs("s")] == [(1, "failed", "tests are red")]


@pytest.mark.req("T43")
def test_only_an_interrupted_run_gets_another_attempt_with_an_id_of_its_own() -> None:
    with a_site() as trial:
        trial.interrupt("s", "build")
        trial.run()
        first, second = trial.runs("s")
        assert (first.attempt, first.state, second.attempt, second.state) == (1, "interrupted", 2, "pending")
        assert first.run_id != second.run_id


@pytest.mark.req("T43", "T45")
def test_the_attempt_after_an_interrupted_one_has_all_that_it_had_come_to() -> None:
    """What is done, what failed, and what only a person can judge."""
    with a_site() as trial:
        run = begun(trial)
        trial.interrupt("s", "build")
        trial.run()
        _, second = trial.runs("s")
        assert (second.attempt, second.forked_from, second.engine) == (2, run.run_id, "store")
        assert steps(trial, second) == [("a", "done", "A"), ("b", "failed", None), ("push", "started", None)]
        with trial._store.read() as tx:
            assert workflow_runs.lineage(tx, second) == ((second.run_id, run.run_id), None)


@pytest.mark.req("T45")
def test_the_fork_of_a_cancelled_run_repeats_no_manual_step_on_a_guess() -> None:
    with a_site() as trial:
        run = begun(trial)
        trial._store.write(lambda tx: workflow_runs.cancel(tx, run, "enough"))
        assert trial.events("s")[0] == "WorkflowUncertain: build build: nobody knows whether these happened: push"
        forked = trial._store.write(lambda tx: workflow_runs.follow(tx, run, 2))
        assert steps(trial, forked) == [("a", "done", "A"), ("push", "started", None)]
        assert steps(trial, run) == [("a", "done", "A"), ("b", "failed", None), ("push", "started", None)]


@pytest.mark.req("T45")
def test_of_a_manual_step_that_may_have_happened_a_person_must_say_whether_it_did() -> None:
    with a_site() as trial:
        run = begun(trial)

        def resume(**said: Any) -> str:
            body = {"run": run.run_id, "do": "resume", **said}
            return str(trial._store.write(lambda tx: controlled(tx, body, "looked", "me"))["state"])

        trial._store.write(lambda tx: workflow_steps.wait(tx, run, "push"))
        with pytest.raises(Problem, match='step "push" may have happened'):
            resume()
        assert resume(absent=True) == "pending"
        again = trial._store.write(lambda tx: workflow_runs.begin(tx, run.run_id, "store"))
        assert again is not None
        trial._store.write(lambda tx: workflow_steps.checkpoint(tx, again, "asked"))
        assert resume() == "pending"


def test_a_run_that_is_not_over_is_listed_before_newer_ones_that_are_and_found_by_the_start_of_its_id() -> None:
    with a_site() as trial:
        (waits,) = trial.runs("s")
        for number in range(3):
            trial.clock.advance(1)
            trial._store.write(lambda tx, n=number: workflow_runs.put(tx, over(waits, n)))
        with trial._store.read() as tx:
            found, beyond = workflow_runs.list_all(tx, limit=2)
            assert ([one.run_id for one in found], beyond) == (["over-2", waits.run_id], 2)
            assert workflow_runs.list_all(tx, begins=waits.run_id[:8]) == ((waits,), 0)
            assert workflow_runs.list_all(tx, begins="_") == ((), 0)
            assert workflow_runs.list_all(tx, project="other") == ((), 0)


def over(run: RunRecord, number: int) -> RunRecord:
    later = run.created_at + number + 1
    return replace(run, run_id=f"over-{number}", key=f"k{number}", state="succeeded", created_at=later)


@pytest.mark.req("T46")
def test_no_run_is_forked_for_a_resource_that_goes() -> None:
    with a_site() as trial:
        run = begun(trial)
        trial.delete("s")
        for _ in ("is being deleted", "is gone"):
            with pytest.raises(Problem, match="is gone or being deleted"):
                trial._store.write(lambda tx: forked(tx, run, "it"))
            trial.run()
        assert trial.get("s") is None


def test_the_doctor_names_why_runs_have_no_worker() -> None:
    with a_site() as trial:
        (run,) = trial.runs("s")
        for _ in range(2):
            trial._store.write(lambda tx: workflow_runs.remark(tx, run.run_id, "file is not a database"))
        with trial._store.read() as tx:
            found = [one for one in database(diagnosis.content(tx)) if one.what == "child runs"]
        assert found == [Finding("FAIL", "child runs", "1 under way without a worker: file is not a database")]
        assert trial.run() == 1
        trial._store.write(lambda tx: workflow_runs.begin(tx, run.run_id, "store"))
        with trial._store.read() as tx:
            assert diagnosis.content(tx)["runsStuck"] == []


def test_why_names_the_child_run_and_what_it_waits_for() -> None:
    with a_site() as trial:

        def told() -> tuple[str, str]:
            with trial._store.read() as tx:
                reasons = why(tx, resources.get(tx, Ref("site", "s", "default")), None)
            (section,) = (one for one in reasons.sections if one.title == "Child runs")
            return section.rows[0][-1], reasons.steps[0]

        assert told()[0] == "is about to begin"
        trial._store.write(lambda tx: holds.put(tx, "restored", "me"))
        assert told()[0] == "no run is begun now: restored"
        trial._store.write(holds.lift)
        run = begun(trial)
        assert told()[0] == "process 1 is at it"
        trial._store.write(lambda tx: workflow_steps.wait(tx, run, "push"))
        assert told() == (
            "waits for a person to say what became of it: push",
            f"rmctl runs resume {run.run_id[:8]} --value JSON --reason WHY",
        )


def begun(trial: Trial) -> RunRecord:
    """A run in the middle of a manual step, with one step done and one failed before it."""
    (asked,) = trial.runs("s")

    def write(tx: Tx) -> RunRecord:
        run = workflow_runs.begin(tx, asked.run_id, "store")
        assert run is not None
        for name in ("a", "b", "push"):
            workflow_steps.begin(tx, run, name, manual=name == "push")
        workflow_steps.end(tx, run, "a", result="A")
        workflow_steps.end(tx, run, "b", error="no")
        return run

    return trial._store.write(write)


def steps(trial: Trial, run: RunRecord) -> list[tuple[str, str, Any]]:
    with trial._store.read() as tx:
        return [(one.name, one.state, one.result) for one in workflow_steps.of(tx, run.run_id)]


@pytest.mark.req("T44")
def test_a_completion_that_names_the_wrong_thing_is_ignored_and_told() -> None:
    with a_site() as trial:
        trial.interrupt("s", "build")
        trial.run()
        old, new = trial.runs("s")

        def say(**said: Any) -> str | None:
            known = {"uid": new.uid, "key": new.key, "run_id": new.run_id, "attempt": 2, "state": "succeeded"}
            return trial._store.write(lambda tx: workflow_runs.complete(tx, Completion(**{**known, **said})))

        assert say(run_id="nobody") == "no such run"
        assert say(attempt=1) == "it names another request or attempt"
        assert say(key="other") == "it names another request or attempt"
        assert say(run_id=old.run_id, attempt=1) == "attempt 2 has followed"
        assert say(result=1) is None
        assert say(result=1) == "it was said before"
        assert say(state="failed") == "it is succeeded already"
        told = [one for one in trial.events("s") if one.startswith("WorkflowCompletionIgnored")]
        assert len(told) == 5
        assert [one.state for one in trial.runs("s")] == ["interrupted", "succeeded"]
        trial.run()
        assert trial.events("s")[0].startswith("WorkflowCompletionIgnored")


@pytest.mark.req("CW10")
@pytest.mark.parametrize(
    ("key", "taken"), [("k", True), ("k" * 512, True), ("k" * 513, False), ("", False), ("a\nb", False)]
)
def test_a_key_has_1_to_512_characters_without_control_characters(key: str, taken: bool) -> None:
    with a_site(key=key) as trial:
        assert (len(trial.runs("s")) == 1) is taken
        assert any("key: expected 1 to 512 characters" in event for event in trial.events("s")) is not taken


def test_an_input_that_is_nested_too_deep_is_refused() -> None:
    def given(_one: Any) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for _ in range(64):
            value = {"in": value}
        return value

    with a_site(given=given) as trial:
        assert trial.runs("s") == ()
        assert any("request: nested deeper than 64" in event for event in trial.events("s"))


@pytest.mark.req("CW5")
def test_a_workflow_that_nobody_could_run_fails_the_pass_and_records_nothing() -> None:
    with a_site() as trial:
        trial._passes._has_workflow = lambda _name, _project: False
        trial.apply("s", {"branch": "x"})
        trial.run()
        assert 'NoWorkflow: no workflow build in project "default"' in trial.events("s")[0]
        assert len(trial.runs("s")) == 1


@pytest.mark.req("T46")
def test_deleting_the_parent_cancels_what_is_under_way_and_then_lets_it_go() -> None:
    with a_site() as trial:
        run = trial.runs("s")[0]
        trial.delete("s")
        assert trial.get("s") is not None
        trial.run()
        assert trial.get("s") is None
        with trial._store.read() as tx:
            found = workflow_runs.by_id(tx, run.run_id)
        assert found is not None
        assert (found.state, found.error) == ("failed", "cancelled: site/s is being deleted")


@pytest.mark.req("T46", "T2")
def test_a_resource_of_the_same_name_inherits_no_run() -> None:
    with a_site() as trial:
        trial.delete("s")
        trial.run()
        trial.apply("s", {"branch": "other"})
        trial.run()
        assert [one.input for one in trial.runs("s")] == [{"branch": "other"}]


@pytest.mark.req("T43")
def test_attempts_that_keep_being_interrupted_wait_longer_and_longer() -> None:
    """A workflow whose file is broken is no storm of attempts, and is tried again for as long as it takes."""
    with a_site() as trial:

        def interrupted(seconds: int) -> int:
            for _ in range(seconds):
                if trial.runs("s")[-1].state == "pending":
                    trial.interrupt("s", "build")
                trial.run_for(1)
            return len(trial.runs("s"))

        assert interrupted(10) == 5
        assert interrupted(600) < 20
        assert trial.runs("s")[-1].attempt == len(trial.runs("s"))
        while trial.runs("s")[-1].state != "pending":
            trial.run_for(60)
        trial.finish("s", "build", "done")
        trial.run()
        assert ready(trial) == "True/Succeeded"
