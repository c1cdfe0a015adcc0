"""Passes of definitions on the real queue and store, with a clock that stands still."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import field_validator

from controllers.definitions.touching import PassOver
from rmctl import (
    KEEP,
    Applied,
    Deferred,
    Rejected,
    Result,
    Spec,
    Status,
    Unknown,
    condition_false,
    condition_true,
    condition_unknown,
    resource_manager,
)
from rmctl.testing import Invalid, Trial


class GadgetSpec(Spec):
    size: int = 1


class GadgetStatus(Status):
    seen: int = 0
    colour: str | None = None


def gadget(reconcile: Callable[..., Any], **more: Any) -> Trial:
    definition = resource_manager("gadget", spec=GadgetSpec, status=GadgetStatus, **more)(reconcile)
    trial = Trial(definition)
    trial.apply("g", {"size": 1})
    return trial


def returning(*results: Any) -> Callable[..., Any]:
    """The results of one pass after the other; the last one for ever."""
    left = list(results)

    def reconcile(ctx: Any, resource: Any) -> Any:
        given = left.pop(0) if len(left) > 1 else left[0]
        return given(ctx, resource) if callable(given) else given

    return reconcile


@pytest.mark.req("T54", "CC5")
def test_a_plain_reconcile_and_an_async_one_do_the_same() -> None:
    def plain(ctx: Any, resource: Any) -> Result:
        ctx.event("Looked", f"size {resource.spec.size}")
        made = ctx.effects.ensure(key="k", kind="make", request={}, observe=lambda: None, apply=lambda: "ref-1")
        return ctx.settled(GadgetStatus(seen=resource.spec.size), conditions=[ctx.condition_true("Ready", made.ref)])

    async def asynchronous(ctx: Any, resource: Any) -> Result:
        async def apply() -> str:
            await asyncio.sleep(0)
            return "ref-1"

        ctx.event("Looked", f"size {resource.spec.size}")
        made = await ctx.effects.ensure(key="k", kind="make", request={}, observe=lambda: None, apply=apply)
        return ctx.settled(GadgetStatus(seen=resource.spec.size), conditions=[ctx.condition_true("Ready", made.ref)])

    for reconcile in (plain, asynchronous):
        with gadget(reconcile) as trial:
            assert trial.run() == 2
            seen = trial.get("g")
            assert seen is not None
            assert (seen.ready, seen.status["seen"], seen.condition("Ready")) == (True, 1, "True/ref-1")
            told = [event.partition(":")[0] for event in trial.events("g")]
            assert told == ["Looked", "EffectApplied", "EffectPending", "ResourceCreated"]


FORGETFUL = """
import asyncio
from rmctl import Spec, condition_true, resource_manager

def wanted(name="k"):
    return {"key": name, "kind": "make", "request": {}, "observe": lambda: None, "apply": lambda: name}

@resource_manager("gadget", spec=Spec)
async def reconcile(ctx, resource):
    BODY
    return ctx.settled(conditions=[condition_true("Ready", "Made")])
"""
EFFECT = "ctx.effects.ensure of k was not awaited (gadget.resource_manager.py:10): write await before it"


@pytest.mark.req("T54")
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("ctx.effects.ensure(**wanted())", EFFECT),
        ("ctx.effects.ensure(**wanted()).ref", f"{EFFECT}; AttributeError: 'coroutine' object has no attribute 'ref'"),
        ("await ctx.effects.ensure(**wanted('j')); ctx.effects.ensure(**wanted())", EFFECT),
        ("task = asyncio.create_task(ctx.effects.ensure(**wanted())); await asyncio.sleep(0)", EFFECT),
        ("ctx.workflows.ensure(key='w', workflow='build', input={})", "ctx.workflows.ensure of w was not awaited"),
    ],
    ids=["forgotten", "used", "the second one", "a task nobody awaits", "a workflow"],
)
def test_a_pass_that_forgets_to_await_fails_and_says_where(tmp_path: Path, body: str, why: str) -> None:
    path = tmp_path / "gadget.resource_manager.py"
    path.write_text(FORGETFUL.replace("BODY", body))
    with Trial(path) as trial:
        trial.apply("g", {})
        assert f"ReconcileFailed: NotAwaited: {why}" in tells(trial)


def test_what_outlives_a_pass_does_nothing_in_its_name_nor_in_that_of_another() -> None:
    """It asks again when the next pass is under way."""
    kept: list[Any] = []

    def reconcile(ctx: Any, _resource: Any) -> Result:
        kept.append(ctx)
        if len(kept) > 1:
            with pytest.raises(PassOver):
                ensured(kept[0])
            with pytest.raises(PassOver):
                kept[0].workflows.ensure(key="w", workflow="build", input={})
        return ctx.settled({"seen": len(kept)})

    with gadget(reconcile) as trial:
        trial.run()
        trial.apply("other", {"size": 1})
        trial.run()
        seen = trial.get("other")
        assert seen is not None
        assert (seen.status["seen"], trial.effects("other"), trial.runs("other")) == (2, (), ())


def test_what_is_awaited_together_is_awaited() -> None:
    async def reconcile(ctx: Any, _resource: Any) -> Result:
        await asyncio.gather(*(ensured(ctx, key=key) for key in "abc"))
        return ctx.settled({"seen": 3})

    with gadget(reconcile) as trial:
        trial.run()
        assert [one.state for one in trial.effects("g")] == ["applied"] * 3
        assert trial.get("g").status["seen"] == 3


@pytest.mark.req("T54", "CC5")
def test_the_three_results() -> None:
    times: list[float] = []

    def reconcile(ctx: Any, _resource: Any) -> Result:
        times.append(ctx.clock.now())
        return [ctx.requeue(), ctx.requeue_after(30), ctx.settled()][len(times) - 1]

    with gadget(reconcile) as trial:
        began = trial.clock.time
        assert (trial.run(), trial.run_for(100)) == (2, 1)
        assert times == [began, began, began + 30]
        assert trial.run_for(10_000) == 0


@pytest.mark.req("CC5")
def test_helpers_make_conditions_and_refuse_a_delay_that_is_none() -> None:
    made = [
        condition_true("A", "Yes", "m"),
        condition_false("A", "No"),
        condition_unknown("A", "Maybe"),
    ]
    assert [(one.status, one.reason, one.message) for one in made] == [
        ("True", "Yes", "m"), ("False", "No", ""), ("Unknown", "Maybe", ""),
    ]  # fmt: skip
    with gadget(lambda ctx, _: ctx.requeue_after(-1)) as trial:
        trial.run()
        assert "requeue_after: expected seconds >= 0, got -1" in trial.events("g")[0]


@pytest.mark.req("T9", "CC2")
def test_an_omitted_status_stays_and_a_null_one_empties_it() -> None:
    kept = [lambda ctx, _: ctx.requeue({"seen": 3, "colour": "red"}), lambda ctx, _: ctx.settled(KEEP)]
    with gadget(returning(*kept)) as trial:
        trial.run()
        seen = trial.get("g")
        assert seen is not None
        assert (seen.status["seen"], seen.status["colour"]) == (3, "red")
    emptied = [lambda ctx, _: ctx.requeue({"seen": 3}), lambda ctx, _: ctx.settled(None)]
    with gadget(returning(*emptied)) as trial:
        trial.run()
        seen = trial.get("g")
        assert seen is not None
        assert sorted(seen.status) == ["conditions", "observedGeneration"]


@pytest.mark.req("CC1", "T8")
def test_conditions_merge_by_type_and_an_older_generation_is_not_believed() -> None:
    passes = [
        lambda ctx, _: ctx.settled(conditions=[condition_true("Ready", "Fine"), condition_true("Warm", "Yes")]),
        lambda ctx, _: ctx.settled(conditions=[condition_false("Ready", "Cold")]),
        lambda ctx, _: ctx.settled(),
    ]
    with gadget(returning(*passes)) as trial:
        trial.run()
        trial.wake("g")
        trial.run()
        seen = trial.get("g")
        assert seen is not None
        assert (seen.condition("Ready"), seen.condition("Warm")) == ("False/Cold", "True/Yes")
        trial.apply("g", {"size": 2})
        trial.run()
        seen = trial.get("g")
        assert seen is not None
        assert (seen.condition("Ready"), seen.condition("Warm")) == ("Unknown/NotReported", "Unknown/NotReported")


@pytest.mark.req("T23", "CC5")
@pytest.mark.parametrize(
    ("given", "why"),
    [
        (None, "reconcile returned nothing"),
        ("settled", "reconcile returned str"),
        (Result(status={"seen": "many"}), "seen"),
        (Result(status=3), "status: expected the definition's model or a mapping, got int"),
        (Result(conditions=(condition_true("A", "x"), condition_true("A", "y"))), "named twice"),
        (Result(conditions=(condition_true("", "x"),)), "must match"),
        (Result(conditions=(condition_true("A", ""),)), "without a type or reason"),
        (Result(finalizers=("a b",)), "must match"),
        (Result(finalizers=("a", "a")), "a finalizer is named twice"),
        (Result(after=float("nan")), "JSON"),
        (lambda _ctx, _resource: 1 / 0, "ZeroDivisionError: division by zero"),
    ],
    ids=["none", "text", "status", "number", "twice", "empty type", "no reason", "finalizer", "twins", "nan", "raises"],
)
def test_what_is_no_result_costs_its_key_a_backoff_and_writes_nothing(given: Any, why: str) -> None:
    with gadget(returning(given)) as trial:
        assert trial.run() == 1
        seen = trial.get("g")
        assert seen is not None
        assert (seen.status["observedGeneration"], seen.status["seen"]) == (0, 0)
        assert trial.events("g")[0].startswith("ReconcileFailed: ")
        assert why in trial.events("g")[0]
        assert trial.run() == 0
        assert trial.run_for(1.2) == 1


def test_a_definition_that_runs_and_fails_is_not_called_unusable_any_more() -> None:
    unusable = Result(conditions=(condition_true("Stalled", "DefinitionUnusable", "line 3: no"),))
    with gadget(returning(unusable, lambda *_: 1 / 0)) as trial:
        trial.run()
        trial.wake("g")
        trial.run_for(10)
        seen = trial.get("g")
        assert seen is not None
        assert [seen.condition(one) for one in ("Ready", "Stalled")] == ["False/ReconcileFailed", ""]


def tells(trial: Trial) -> str:
    """The newest event, after one pass that failed."""
    trial.run()
    seen = trial.get("g")
    assert seen is not None
    assert seen.status["observedGeneration"] == 0
    return trial.events("g")[0]


@pytest.mark.req("T23", "CC5")
@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda ctx: ctx.settled(finalizers="abc"), "TypeError: finalizers: expected a list of texts"),
        (
            lambda ctx: ctx.settled(conditions=["Ready"]),
            "conditions: expected a list of what condition_true",
        ),
        (lambda ctx: ctx.settled(conditions=condition_true("A", "x")), "TypeError: conditions: expected a list"),
        (lambda ctx: ctx.requeue_after("soon"), "requeue_after: expected seconds >= 0, got soon"),
        (lambda ctx: ctx.event("not a type", "x"), "ValueError: event: its type must match"),
        (lambda ctx: ctx.event("Fine", {"a": 1}), "TypeError: event: expected a message as text"),
        (lambda ctx: ensured(ctx, key=5), "TypeError: effect key: expected text, got int"),
        (lambda ctx: ensured(ctx, kind=None), "TypeError: kind: expected text, got NoneType"),
        (lambda ctx: ensured(ctx, request=[1]), "TypeError: effects.ensure: request: expected a dict, got list"),
        (lambda ctx: ensured(ctx, request={"a": object()}), "ValueError: Object of type object is not JSON"),
        (lambda ctx: ensured(ctx, key="x" * 513), "EffectMismatch: key: expected 1 to 512 characters"),
        (
            lambda ctx: ctx.workflows.ensure(key="k", workflow=3, input={}),
            "workflow: expected text, got int",
        ),
    ],
)
def test_a_wrong_call_fails_the_pass_and_says_what_was_expected(wrong: Callable[[Any], Any], why: str) -> None:
    with gadget(lambda ctx, _: wrong(ctx)) as trial:
        assert why in tells(trial)
        assert trial.effects("g") == ()


def ensured(ctx: Any, **given: Any) -> Any:
    wanted = {"key": "k", "kind": "make", "request": {}, **given}
    return ctx.effects.ensure(**wanted, observe=lambda: None, apply=lambda: "x")


@pytest.mark.req("T53")
@pytest.mark.parametrize(
    ("watch", "why"),
    [
        (lambda _: "/etc/hosts", "watch returned str: expected a list of paths"),
        (lambda _: [str(n) for n in range(101)], "watch returned 101 paths: at most 100"),
        (lambda _: 1 / 0, "ZeroDivisionError"),
    ],
    ids=["text", "many", "raises"],
)
def test_a_watch_that_names_no_files_fails_the_pass(watch: Any, why: str) -> None:
    with gadget(lambda ctx, _: ctx.settled(), watch=watch) as trial:
        assert why in tells(trial)


def test_what_a_model_refuses_is_one_line() -> None:
    with gadget(lambda ctx, _: ctx.settled({"seen": "no", "shade": 1})) as trial:
        told = tells(trial)
        assert told.startswith("ReconcileFailed: GadgetStatus: seen: Input should be a valid integer")
        assert told.endswith("(and 1 more)")
        assert "\n" not in told


@pytest.mark.req("T57")
def test_a_message_without_end_is_cut_before_every_list_shows_it() -> None:
    with gadget(lambda ctx, _: ctx.settled(conditions=[condition_true("Ready", "Fine", "m" * 100_000)])) as trial:
        trial.run()
        seen = trial.get("g")
        assert seen is not None
        assert [len(one.message) for one in seen.conditions] == [8193]


@pytest.mark.req("T23")
def test_a_status_of_more_than_a_mebibyte_fails_the_pass() -> None:
    with gadget(lambda ctx, _: ctx.settled({"colour": "x" * 1_048_576})) as trial:
        trial.run()
        assert "status is over its limit of 1048576 bytes" in trial.events("g")[0]


@pytest.mark.req("CF6", "T39")
def test_a_pass_makes_one_effect_and_the_next_pass_goes_on() -> None:
    made: list[str] = []
    passes: list[int] = []

    def reconcile(ctx: Any, _resource: Any) -> Result:
        passes.append(len(made))
        for key in ("a", "b", "c"):
            ctx.effects.ensure(
                key=key, kind="make", request={}, observe=lambda: None, apply=lambda key=key: made.append(key)
            )
        return ctx.settled(conditions=[condition_true("Ready", "Made")])

    with gadget(reconcile) as trial:
        trial.run()
        assert made == ["a", "b", "c"]
        assert passes == [0, 1, 2, 3]
        assert [one.state for one in trial.effects("g")] == ["applied"] * 3


@pytest.mark.req("CF1", "CF3", "T33")
def test_a_process_that_dies_after_the_deed_finds_it_and_does_not_repeat_it() -> None:
    world: list[str] = []

    def reconcile(ctx: Any, resource: Any) -> Result:
        key = f"make:{resource.metadata.generation}"
        ctx.effects.ensure(
            key=key,
            kind="make",
            request={"size": resource.spec.size},
            observe=lambda: world[0] if world else None,
            apply=lambda: world.append("thing") or "thing",
        )
        return ctx.settled()

    with gadget(reconcile) as trial:
        with trial.crash_after("make:1"):
            trial.run()
        assert [(one.state, one.attempts) for one in trial.effects("g")] == [("pending", 1)]
        trial.run_for(5)
        assert world == ["thing"]
        assert [(one.state, one.external_ref) for one in trial.effects("g")] == [("applied", "thing")]
        assert trial.events("g")[0] == "EffectRecovered: make make:1: found as thing"


def test_a_test_that_lets_nobody_die_is_told() -> None:
    with gadget(lambda ctx, _: ensured(ctx) and ctx.settled()) as trial:
        with pytest.raises(AssertionError, match="no effect with the key make was made"), trial.crash_after("make"):
            trial.run()
        with pytest.raises(ValueError, match="g asked for no run under the key build; its keys: none"):
            trial.finish("g", "build")


@pytest.mark.req("CF3", "T34")
def test_a_process_that_dies_before_the_deed_does_it_once() -> None:
    world: list[str] = []
    dies = [True]

    def apply() -> str:
        if dies.pop() if dies else False:
            raise ConnectionError("the line is down")
        world.append("thing")
        return "thing"

    def reconcile(ctx: Any, _resource: Any) -> Result:
        made = ctx.effects.ensure(
            key="k", kind="make", request={}, observe=lambda: world[0] if world else None, apply=apply
        )
        return ctx.settled({"colour": made.state})

    with gadget(reconcile) as trial:
        trial.run_for(5)
        assert world == ["thing"]
        seen = trial.get("g")
        assert seen is not None
        assert seen.status["colour"] == "applied"
        assert [one.attempts for one in trial.effects("g")] == [2]
        assert "EffectIndeterminate: make k: ConnectionError: the line is down" in trial.events("g")


@pytest.mark.req("CF5", "T34")
def test_an_observe_that_raises_leaves_the_record_and_fails_the_pass() -> None:
    def observe() -> None:
        raise TimeoutError("no answer")

    def reconcile(ctx: Any, _resource: Any) -> Result:
        ctx.effects.ensure(key="k", kind="make", request={}, observe=observe, apply=lambda: Unknown("who knows"))
        return ctx.settled()

    with gadget(reconcile) as trial:
        trial.run_for(5)
        assert [one.state for one in trial.effects("g")] == ["indeterminate"]
        kinds = [event.partition(":")[0] for event in trial.events("g")]
        assert kinds[:3] == ["ReconcileFailed", "EffectObserveFailed", "EffectIndeterminate"]


@pytest.mark.req("T35", "T39")
@pytest.mark.parametrize(
    ("answers", "reason", "message", "times"),
    [
        ("raises", "False/EffectUnknown", "make k: ConnectionError: refused", [0, 0, 2]),
        (Unknown("line cut"), "False/EffectUnknown", "make k: line cut", [0, 0, 2]),
        (Deferred("throttled", 20.0), "False/EffectDeferred", "make k: throttled", [0, 20, 40]),
    ],
    ids=["raises", "unknown", "deferred"],
)
def test_an_effect_that_is_not_at_its_end_ends_the_pass_and_nothing_is_ready(
    answers: Any, reason: str, message: str, times: list[float]
) -> None:
    asked: list[float] = []

    def reconcile(ctx: Any, _resource: Any) -> Result:
        def apply() -> Any:
            asked.append(ctx.clock.now())
            if answers == "raises":
                raise ConnectionError("refused")
            return answers

        ctx.effects.ensure(key="k", kind="make", request={}, observe=lambda: None, apply=apply)
        return ctx.settled(conditions=[condition_true("Ready", "Made")])

    with gadget(reconcile) as trial:
        began = trial.clock.time
        trial.run()
        seen = trial.get("g")
        assert seen is not None
        assert (seen.ready, seen.condition("Ready")) == (False, reason)
        assert message in [one.message for one in seen.conditions]
        trial.wake("g")
        trial.run_for(times[-1])
        assert asked == [began + at for at in times]


@pytest.mark.req("T35", "CF4")
def test_the_answers_that_apply_may_give() -> None:
    answers = [Deferred("throttled", 20.0), Rejected("not allowed", "forbidden"), Applied("never")]
    asked: list[float] = []

    def reconcile(ctx: Any, _resource: Any) -> Result:
        def apply() -> Any:
            asked.append(ctx.clock.now())
            return answers[len(asked) - 1]

        made = ctx.effects.ensure(key="k", kind="make", request={}, observe=lambda: None, apply=apply)
        return ctx.settled({"colour": f"{made.state} {made.error}"})

    with gadget(reconcile) as trial:
        began = trial.clock.time
        trial.run()
        assert [(one.state, one.error) for one in trial.effects("g")] == [("pending", "throttled")]
        trial.run_for(60)
        assert asked == [began, began + 20]
        seen = trial.get("g")
        assert seen is not None
        assert seen.status["colour"] == "rejected not allowed"
        trial.wake("g")
        trial.run()
        assert len(asked) == 2


@pytest.mark.req("T31")
@pytest.mark.parametrize(
    ("first", "second"),
    [({"request": {"n": 1}}, {"request": {"n": 2}}), ({"kind": "make"}, {"kind": "break"})],
    ids=["request", "kind"],
)
def test_a_key_that_stands_for_something_else_fails_the_pass(first: dict[str, Any], second: dict[str, Any]) -> None:
    def reconcile(ctx: Any, resource: Any) -> Result:
        asked = first if resource.metadata.generation == 1 else second
        ctx.effects.ensure(**{"key": "k", "kind": "make", "request": {}, **asked}, observe=None, apply=lambda: "x")
        return ctx.settled()

    with gadget(reconcile) as trial:
        trial.run()
        trial.apply("g", {"size": 2})
        trial.run()
        assert trial.events("g")[0].startswith("ReconcileFailed: EffectMismatch: ")
        assert len(trial.effects("g")) == 1


@pytest.mark.req("CM10", "T11")
def test_a_finalizer_keeps_the_resource_until_its_definition_has_cleaned_up() -> None:
    world = ["thing"]

    def reconcile(ctx: Any, resource: Any) -> Result:
        if not resource.deleting:
            return ctx.settled(finalizers=["example/thing"])
        if world:
            world.clear()
            return ctx.requeue_after(5)
        return ctx.settled(finalizers=["example/late"])

    with gadget(reconcile) as trial:
        trial.run()
        trial.delete("g")
        trial.delete("g")
        assert trial.run() == 1
        seen = trial.get("g")
        assert seen is not None
        assert (seen.finalizers, world) == (("example/thing",), [])
        assert trial.run_for(5) == 1
        assert trial.get("g") is None


@pytest.mark.req("T11", "T34")
def test_an_effect_that_nobody_asks_for_any_more_keeps_the_resource_and_the_way_out_is_said() -> None:
    def reconcile(ctx: Any, resource: Any) -> Result:
        if not resource.deleting:
            ctx.effects.ensure(
                key="a deed", kind="do", request={}, observe=lambda: Unknown("?"), apply=lambda: Unknown("line cut")
            )
        return ctx.settled()

    with gadget(reconcile) as trial:
        trial.run(2)
        trial.delete("g")
        trial.run(2)
        seen = trial.get("g")
        assert seen is not None
        assert (seen.condition("Ready"), seen.condition("Stalled")) == ("False/Deleting", "True/EffectUnknown")
        (effect,) = trial.effects("g")
        told = next(one.message for one in seen.conditions if one.type == "Ready")
        assert f"rmctl effects resolve '{effect.id}' --adopt REF" in told
        assert "rmctl delete gadget/g --force" in told


@pytest.mark.req("T48")
def test_a_spec_is_judged_by_the_definitions_own_model_and_the_first_status_is_its_own() -> None:
    def first(spec: GadgetSpec) -> dict[str, int]:
        return {"seen": spec.size * 10}

    definition = resource_manager("gadget", spec=GadgetSpec, status=GadgetStatus, initial_status=first)(
        lambda ctx, _: ctx.settled()
    )
    with Trial(definition) as trial:
        with pytest.raises(Invalid) as refused:
            trial.apply("g", {"size": "large", "sise": 1})
        assert sorted(map(str, refused.value.errors)) == [
            "spec.size: expected an integer, got text",
            "unknown field spec.sise (did you mean size?)",
        ]
        assert trial.get("g") is None
        trial.apply("g", {"size": 4})
        seen = trial.get("g")
        assert seen is not None
        assert seen.status["seen"] == 40


def test_a_model_that_raises_is_not_taken_for_an_initial_status() -> None:
    class Fragile(Spec):
        @field_validator("size", check_fields=False)
        @classmethod
        def judged(cls, value: int) -> int:
            return {1: value}[value]

        size: int = 1

    definition = resource_manager("gadget", spec=Fragile)(returning(Result()))
    with Trial(definition) as trial, pytest.raises(Invalid, match=r"spec: its model raised KeyError: 2"):
        trial.apply("g", {"size": 2})


def test_conditions_without_end_fail_the_pass() -> None:
    many = Result(conditions=tuple(condition_true(f"C{number}", "Fine") for number in range(101)))
    with gadget(returning(many)) as trial:
        assert tells(trial) == "ReconcileFailed: at most 100 conditions"


@pytest.mark.parametrize("name", ["observedGeneration", "conditions", "workflowRun"])
def test_an_initial_status_with_a_field_of_the_runtimes_is_refused(name: str) -> None:
    definition = resource_manager("gadget", spec=GadgetSpec, initial_status=lambda _: {name: 9})(returning(Result()))
    with Trial(definition) as trial, pytest.raises(Invalid, match=f"status.{name} is the runtime's"):
        trial.apply("g", {})


def test_a_status_field_that_is_the_runtimes_is_refused() -> None:
    definition = resource_manager("gadget", spec=GadgetSpec)(lambda ctx, _: ctx.settled({"conditions": []}))
    with Trial(definition) as trial:
        trial.apply("g", {})
        trial.run()
        assert "status.conditions is the runtime's" in trial.events("g")[0]
