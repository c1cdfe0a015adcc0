"""What verbs send, what they print, and the code that they end with."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.main import main
from tests.cli_objects import NO_FIT, a_condition, a_job, a_node, a_running_job, an_object
from tests.cli_runs import Ran, Rmctl
from tests.fake_api import Answer, FakeApi, Request, serving, status

HELLO = """\
apiVersion: rmctl/v1
kind: bundle
metadata: {name: hello}
spec:
  pool: default
  jobs:
    - jobName: web
      requirements:
        onRuntimeFailure: restrat
"""


@pytest.fixture
def hello(tmp_path: Path) -> str:
    path = tmp_path / "hello.yaml"
    path.write_text(HELLO, encoding="utf-8")
    return str(path)


def an_outcome(outcome: str = "created", **fields: Any) -> Answer:
    return Answer({"items": [{"kind": "bundle", "name": "hello", "project": "default", "outcome": outcome, **fields}]})


def a_bundle(*ready: str, **fields: Any) -> dict[str, Any]:
    return an_object("bundle", "hello", ready, **fields)


def a_watch(*lines: tuple[str, dict[str, Any]]) -> Callable[[Request], Answer]:
    """The list is empty unless asked otherwise; a watch tells these lines."""
    return lambda request: Answer(lines=tuple({"type": type_, "object": document} for type_, document in lines))


def first_list_then_watch(
    api: FakeApi, plural: str, items: list[dict[str, Any]], *lines: tuple[str, dict[str, Any]]
) -> None:
    def reply(request: Request) -> Answer:
        if "watch" in request.query:
            return a_watch(*lines)(request)
        return Answer({"metadata": {"resourceVersion": "7"}, "items": items})

    api.on(f"GET {plural}", reply)


# apply, plan


def test_apply_sends_every_document_in_one_piece_and_tells_what_became_of_it(
    api: FakeApi, rmctl: Rmctl, hello: str
) -> None:
    api.on("POST batch", an_outcome("configured", restarts=["hello/primary/web"]))
    ran = rmctl("apply", "-f", hello)
    assert ran == Ran(0, "bundle/hello configured\nrestarts: hello/primary/web\n", "Next: rmctl get bundle/hello -w\n")
    (sent,) = api.sent("POST", "batch")
    assert [document["metadata"]["name"] for document in sent.body.pop("documents")] == ["hello"]
    assert sent.body == {"fieldManager": "rmctl", "dryRun": False, "force": False}


def test_an_equal_apply_is_unchanged_and_a_broken_bundle_gets_its_cure(api: FakeApi, rmctl: Rmctl, hello: str) -> None:
    api.on("POST batch", an_outcome("unchanged", hint="rmctl restart bundle/hello"))
    ran = rmctl("apply", "-f", hello, "-p", "news")
    assert (ran.out, ran.err.splitlines()[0]) == ("bundle/hello unchanged\n", "hint: rmctl restart bundle/hello")
    assert api.requests[0].body["project"] == "news"


@pytest.mark.req("S6")
def test_what_an_apply_leaves_to_others_is_told_with_who_set_it(api: FakeApi, rmctl: Rmctl, hello: str) -> None:
    kept = [{"field": "spec.priority", "asked": 5, "standing": 7, "manager": "ana"}]
    api.on("POST batch", an_outcome("unchanged", kept=kept))
    api.on("POST plan", an_outcome("unchanged", kept=kept))
    told = "bundle/hello: spec.priority stays 7, set by ana; the file says 5"
    for words in (("apply", "-f", hello), ("apply", "-f", hello, "--dry-run"), ("plan", "-f", hello)):
        assert told in rmctl(*words).err.splitlines()


@pytest.mark.req("B49")
def test_the_fields_that_the_server_refuses_get_their_place_in_the_file(api: FakeApi, rmctl: Rmctl, hello: str) -> None:
    one_of = '"restrat" is not one of preferSpare, avoidSpare, drop'
    causes = [
        {"field": "spec.jobs[0].requirements.onRuntimeFailure", "message": one_of, "document": 0},
        {"field": "spec.replica", "message": "unknown field spec.replica (did you mean replicas?)", "document": 0},
    ]
    hint = "most jobs want avoidSpare"
    api.on("POST batch", status(422, "Invalid", "bundle: …", causes=causes, hint=hint))
    ran = rmctl("apply", "-f", hello)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.replace(hello, "hello.yaml").splitlines() == [
        "rmctl: error: hello.yaml:9:9: spec.jobs[0].requirements.onRuntimeFailure: " + one_of,
        "rmctl: error: hello.yaml:4:1: unknown field spec.replica (did you mean replicas?)",
        "hint: most jobs want avoidSpare",
    ]


def test_dry_runs_store_nothing_and_say_so(api: FakeApi, rmctl: Rmctl, hello: str) -> None:
    api.on("POST batch", an_outcome())
    ran = rmctl("apply", "-f", hello, "--dry-run")
    assert (ran.out, api.requests[0].body["dryRun"]) == ("bundle/hello created (server dry run)\n", True)


@pytest.mark.req("B11", "B12", "B13", "B28", "B29", "B30", "B52", "B54", "B57", "B58", "B59", "B63", "B64", "B68")
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"spec.priority": True}, "spec.priority: expected an integer, got boolean"),
        ({"spec.priority": 1.0}, "spec.priority: expected an integer, got 1.0"),
        ({"spec.priority": 100.0}, "spec.priority: expected an integer, got 100.0"),
        ({"spec.priority": "3"}, "spec.priority: expected an integer, got text"),
        ({"spec.priority": -1001}, "spec.priority: must be >= -1000"),
        ({"metadata.name": None}, "metadata.name: required"),
        ({"metadata.name": 5}, "metadata.name: expected text, got 5"),
        ({"metadata.name": "a" * 64}, "metadata.name: at most 63 characters"),
        ({"metadata.name": "Job_A"}, "metadata.name: must match [a-z0-9]([-a-z0-9]*[a-z0-9])?"),
        ({"job.command": []}, "spec.jobs[0].command: expected a non-empty list of texts"),
        ({"job.command": "ls -la"}, "spec.jobs[0].command: expected a list, got text"),
        ({"job.command": ["a\0b"]}, "spec.jobs[0].command[0]: must not contain a null character"),
        (
            {"job.env": {"RM_EFFECT": "x"}},
            'spec.jobs[0].env: "RM_EFFECT": names that start with RM_ or NORSK_ are reserved',
        ),
        ({"job.workingDir": "../x"}, "spec.jobs[0].workingDir: must stay inside the job directory"),
        ({"requirements.requiredCapacity": -1}, "spec.jobs[0].requirements.requiredCapacity: must be > 0"),
        ({"requirements.maxRestartsPerHour": -1}, "spec.jobs[0].requirements.maxRestartsPerHour: must be >= 0"),
    ],
)
def test_a_client_dry_run_tells_what_the_file_alone_shows(
    api: FakeApi, rmctl: Rmctl, tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    job: dict[str, Any] = {"jobName": "web", "command": ["true"], "requirements": {"requiredCapacity": 1}}
    job["requirements"]["onRuntimeFailure"] = "avoidSpare"
    document: dict[str, Any] = {"apiVersion": "rmctl/v1", "kind": "bundle", "metadata": {"name": "hello"}}
    document["spec"] = {"pool": "local", "jobs": [job]}
    places = {**document, "job": job, "requirements": job["requirements"]}
    ((path, value),) = change.items()
    place, _, field = path.partition(".")
    places[place][field] = value
    (tmp_path / "bad.json").write_text(json.dumps(document), encoding="utf-8")
    ran = rmctl("apply", "-f", str(tmp_path / "bad.json"), "--dry-run=client")
    assert (ran.code, ran.out, api.requests) == (2, "", [])
    (line,) = ran.err.splitlines()
    assert line.startswith(f"rmctl: error: {tmp_path}/bad.json:1:")
    assert line.partition(".json:1:")[2].partition(": ")[2] == told


@pytest.mark.req("B80")
def test_empty_input_is_an_empty_manifest(api: FakeApi) -> None:
    words = [sys.executable, "-m", "cli.main", "--server", api.address, "apply", "-f", "-"]
    empty = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    closed = subprocess.run(["sh", "-c", '"$@" <&-', "sh", *words], capture_output=True, text=True, check=False)
    assert {(ran.returncode, ran.stderr) for ran in (empty, closed)} == {(2, "rmctl: error: stdin: empty manifest\n")}


def test_a_plan_shows_where_jobs_would_run_and_ends_with_6_when_one_cannot(
    api: FakeApi, rmctl: Rmctl, hello: str
) -> None:
    placed = {"job": "hello/primary/web", "node": "node-a", "tier": "local", "sentence": "node-a"}
    waits = {"job": "hello/backup/web", "node": None, "tier": None, "sentence": NO_FIT}
    api.on("POST plan", an_outcome(placements=[placed]), an_outcome(placements=[placed, waits]))
    good, short = rmctl("plan", "-f", hello), rmctl("plan", "-f", hello)
    assert good.out == "bundle/hello would be created\n  job/hello/primary/web  → node-a  tier local\n"
    assert (good.code, good.err) == (0, f"Next: rmctl apply -f {hello}\n")
    assert short == Ran(
        6,
        "bundle/hello would be created\n"
        "  job/hello/primary/web  → node-a  tier local\n"
        f"  job/hello/backup/web   waits     {NO_FIT}\n",
        f"1 of 2 jobs would wait. Next: rmctl apply -f {hello}\n",
    )


def test_a_plan_tells_what_is_drawn_and_what_is_taken_from_a_reservation(
    api: FakeApi, rmctl: Rmctl, hello: str
) -> None:
    one = {"job": "hello/primary/web", "answer": "placed", "node": "a", "tier": "local", "drawn": ["a", "c", "b"]}
    other = {"job": "hello/primary/train", "answer": "placed", "node": "d", "tier": "local", "reservation": "night"}
    api.on("POST plan", an_outcome(placements=[one, other]))
    assert rmctl("plan", "-f", hello).out == (
        "bundle/hello would be created\n"
        "  job/hello/primary/web    → a  tier local, or c, b: one of them is drawn\n"
        "  job/hello/primary/train  → d  tier local, in its reservation night\n"
    )


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--vcpu", "1", "--selector", "a = b"), "--selector tells which GPUs: it goes with --gpus or --gpu-units"),
        (("--vcpu", "1", "--nvlink"), "--nvlink tells how GPUs are joined: it goes with --gpus"),
        (("--gpu-units", "500", "--nvlink"), "--nvlink tells how GPUs are joined: it goes with --gpus"),
        (("--gpus", "1", "--domain", "rack"), "--domain tells what keeps a gang together: it goes with --gang"),
        (("--vcpu", "nan"), "--vcpu nan: a number above 0, in steps of 0.001"),
        (("--vcpu", "inf"), "--vcpu inf: a number above 0, in steps of 0.001"),
        (("--vcpu", "0.0019"), "--vcpu 0.0019: a number above 0, in steps of 0.001"),
        (("--vcpu", "1", "--for", "0.3s"), "--for 0.3s: whole seconds, at least 1s"),
        (("--vcpu", "1", "--for", "1500ms"), "--for 1500ms: whole seconds, at least 1s"),
    ],
)
def test_what_a_reservation_cannot_mean_is_refused_by_its_flag(rmctl: Rmctl, words: tuple[str, ...], line: str) -> None:
    ran = rmctl("reserve", "x", *words)
    assert (ran.code, ran.out, line in ran.err) == (2, "", True), ran.err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--label", "novalue"), '--label "novalue": expected KEY=VALUE'),
        (("--label", "a b=c"), '--label "a b=c": expected [PREFIX/]NAME of letters, digits, - _ and .'),
        (("--label", f"k={'x' * 64}"), "at most 63 characters"),
        (("--label", "rmctl/x=1"), "labels that start with rmctl/ are the system's"),
        (("--capability", "a b"), '--capability "a b": must match'),
    ],
)
def test_an_agent_refuses_what_its_server_would(rmctl: Rmctl, words: tuple[str, ...], line: str) -> None:
    ran = rmctl("agent", "--node", "n", "--token", "t", *words)
    assert (ran.code, line in ran.err) == (2, True), ran.err


def test_a_gang_of_none_is_sent_as_it_was_asked(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("POST batch", status(422, "Invalid", "spec.gang.size: must be >= 2"))
    assert rmctl("reserve", "x", "--vcpu", "1", "--gang", "0").code == 2
    (sent,) = api.sent("POST", "batch")
    assert sent.body["documents"][0]["spec"]["gang"] == {"size": 0}


def test_only_a_reservation_whose_time_is_over_is_left_out(api: FakeApi, rmctl: Rmctl) -> None:
    ready = ("True", "Active", "is active")
    listed = [an_object("reservation", name, ready) for name in ("now", "gone")]
    for one, phase in zip(listed, ("active", "expired"), strict=True):
        one["status"] |= {"phase": phase, "allocations": [{"node": "node-a"}, {"node": "node-b"}, {"node": "node-a"}]}
    api.on("GET reservations", Answer({"items": listed}))
    names = [line.split()[0] for line in rmctl("get", "reservations", "--no-headers").out.splitlines()]
    all_names = [line.split()[0] for line in rmctl("get", "reservations", "--all", "--no-headers").out.splitlines()]
    assert rmctl("get", "reservations", "--no-headers").out.split()[4:6] == ["node-a,", "node-b"]
    assert (names, sorted(all_names)) == (["reservation/now"], ["reservation/gone", "reservation/now"])


def test_a_plan_lists_what_would_help_and_with_a_trace_what_became_of_every_node(
    api: FakeApi, rmctl: Rmctl, hello: str
) -> None:
    waits = {"job": "hello/primary/web", "node": None, "tier": None, "sentence": NO_FIT, "wouldFit": ["it were small"]}
    stays = {"job": "hello/backup/web", "node": "node-a", "tier": "local", "sentence": "runs", "answer": "runs"}
    traced = {**waits, "trace": f"{NO_FIT}\nNodes\n  node-a  refused  cordoned\n"}
    api.on("POST plan", an_outcome(placements=[waits, stays]), an_outcome(placements=[traced]))
    assert rmctl("plan", "-f", hello).out.splitlines()[1:] == [
        f"  job/hello/primary/web  waits      {NO_FIT}",
        "    would fit if",
        "      1. it were small",
        "  job/hello/backup/web   on node-a  stays",
    ]
    assert rmctl("place", "-f", hello).out.splitlines()[2:] == [
        "    Nodes",
        "      node-a  refused  cordoned",
        "    would fit if",
        "      1. it were small",
    ]
    assert [one.query for one in api.sent("POST", "plan")] == [{}, {"trace": "true"}]


def test_validate_needs_no_server(api: FakeApi, rmctl: Rmctl, tmp_path: Path) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text(rmctl("init", "pool", "mine").out, encoding="utf-8")
    assert (rmctl("validate", "-f", str(path)).out, api.requests) == ("pool/mine is valid\n", [])


def test_plan_exit_code_tells_differences(api: FakeApi, rmctl: Rmctl, hello: str) -> None:
    api.on("POST plan", an_outcome("configured"), an_outcome("unchanged"))
    assert [rmctl("plan", "-f", hello, "--exit-code").code for _ in range(2)] == [1, 0]


# wait


@pytest.mark.req("S4", "S20")
def test_a_wait_does_not_believe_a_status_that_is_behind(api: FakeApi, rmctl: Rmctl) -> None:
    behind = a_bundle("True", "AllRunning", generation=4, observed=3)
    there = a_bundle("True", "AllRunning", generation=4)
    first_list_then_watch(api, "bundles", [behind], ("MODIFIED", behind), ("BOOKMARK", {}), ("MODIFIED", there))
    ran = rmctl("wait", "bundle/hello", "--for=Ready", "--timeout=20s")
    assert (ran.code, ran.out) == (0, "bundle/hello Ready\n")
    about = [request.query.get("watch") for request in api.requests if request.path.endswith("/bundles")]
    assert about[:2] == [None, "1"]


@pytest.mark.req("S4", "S20")
def test_a_wait_ends_with_8_when_it_will_not_go_on_by_itself(api: FakeApi, rmctl: Rmctl) -> None:
    stalled = a_condition("Stalled", "True", "InvalidSpec", "no such template", generation=4)
    before = a_bundle(
        "False", "Starting", generation=4, observed=3, conditions=(a_condition("Stalled", "True", "Old"),)
    )
    now = a_bundle("False", "Broken", "is broken", generation=4, conditions=(stalled,))
    first_list_then_watch(api, "bundles", [before], ("MODIFIED", now))
    ran = rmctl("wait", "bundle", "hello")
    assert (ran.code, ran.out) == (8, "")
    assert ran.err.splitlines()[-2:] == [
        "rmctl: error: bundle/hello will not go on by itself (InvalidSpec): no such template",
        "hint: rmctl why bundle/hello",
    ]


@pytest.mark.req("S20")
def test_a_wait_ends_with_7_when_the_time_is_up(api: FakeApi, rmctl: Rmctl) -> None:
    first_list_then_watch(api, "bundles", [a_bundle("False", "NoFit", "0 of 1 job runs, 1 waits")])
    ran = rmctl("wait", "bundle/hello", "--timeout", "10ms")
    assert (ran.code, ran.err.splitlines()[-2]) == (
        7,
        "rmctl: error: bundle/hello has not reached Ready after 0.0 s: NoFit, 0 of 1 job runs, 1 waits",
    )


def test_what_is_ready_and_degraded_is_0_with_a_warning(api: FakeApi, rmctl: Rmctl) -> None:
    degraded = a_condition("ResilienceDegraded", "True", "SameAz", "both copies are in zone-a")
    api.lists("bundles", a_bundle("True", "AllRunning", conditions=(degraded,)))
    ran = rmctl("wait", "bundle/hello")
    assert (ran.code, ran.err.splitlines()[-1]) == (0, "rmctl: warning: bundle/hello: both copies are in zone-a")


def test_other_conditions_values_and_the_end_can_be_waited_for(api: FakeApi, rmctl: Rmctl) -> None:
    api.lists("jobs", a_running_job("hello/primary/web", "node-a", 7))
    words = ("wait", "job/hello/primary/web")
    assert rmctl(*words, "--for=condition=Ready=True").code == 0
    assert (
        rmctl(*words, "--for=jsonpath={.status.phase}=running").out == "job/hello/primary/web {.status.phase}=running\n"
    )
    assert rmctl("wait", "job/gone/primary/web", "--for=delete").out == "job/gone/primary/web deleted\n"
    gone = rmctl("wait", "job/gone/primary/web")
    assert (gone.code, gone.err) == (3, 'rmctl: error: (NotFound) job "gone/primary/web": not found\n')


def test_several_kinds_are_waited_for_at_once(api: FakeApi, rmctl: Rmctl) -> None:
    pool = an_object("pool", "local", ("True", "HasCapacity"))
    api.lists("pools", pool)
    first_list_then_watch(api, "bundles", [a_bundle("False", "Starting")], ("MODIFIED", a_bundle("True", "AllRunning")))
    assert rmctl("wait", "pool/local", "bundle/hello").code == 0


def test_a_compacted_log_is_listed_again(api: FakeApi, rmctl: Rmctl) -> None:
    lists = [[a_bundle("False", "Starting")], [a_bundle("True", "AllRunning")]]

    def reply(request: Request) -> Answer:
        if "watch" in request.query:
            error = {"code": 410, "reason": "Expired", "message": "too old, list again"}
            return Answer(lines=({"type": "ERROR", "object": error},))
        return Answer({"metadata": {"resourceVersion": "7"}, "items": lists.pop(0)})

    api.on("GET bundles", reply)
    assert rmctl("wait", "bundle/hello").code == 0


def test_apply_waits_for_what_it_applied(api: FakeApi, rmctl: Rmctl, hello: str) -> None:
    api.on("POST batch", an_outcome())
    first_list_then_watch(
        api, "bundles", [a_bundle("False", "Starting", "0 of 1 job runs")], ("MODIFIED", a_bundle("True", "AllRunning"))
    )
    ran = rmctl("apply", "-f", hello, "--wait")
    progress = "bundle/hello  Starting: 0 of 1 job runs\nbundle/hello  AllRunning\n"
    assert ran == Ran(0, "bundle/hello created\n", progress)


# delete


def test_delete_waits_until_it_is_gone(api: FakeApi, rmctl: Rmctl) -> None:
    going = a_bundle(
        "False", "Deleting", "is being deleted: 1 job stops", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}
    )
    api.on("DELETE bundles/hello", Answer(going))
    first_list_then_watch(api, "bundles", [going], ("DELETED", going))
    ran = rmctl("delete", "bundle", "hello")
    assert ran == Ran(0, "bundle/hello deleted\n", "bundle/hello  Deleting: is being deleted: 1 job stops\n")


def test_delete_need_not_wait(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("DELETE pools/a", Answer({"kind": "Status", "status": "Success"}))
    assert rmctl("delete", "pool/a", "--wait=false") == Ran(0, "pool/a is being deleted\n", "")


@pytest.mark.req("B91")
def test_what_is_not_there_is_3_and_the_rest_is_deleted_all_the_same(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("DELETE pools/a", status(404, "NotFound", 'pool "a": not found'))
    api.on("DELETE pools/b", Answer({}))
    api.lists("pools")
    assert rmctl("delete", "pool", "a", "b") == Ran(
        3, "pool/b deleted\n", 'rmctl: error: (NotFound) pool "a": not found\n'
    )
    assert rmctl("delete", "pool", "a", "--ignore-not-found").code == 0


@pytest.mark.req("B91")
def test_a_uid_is_a_precondition(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("DELETE pools/a", status(409, "Conflict", 'pool "a": is another one now (have uid x, now y)'))
    ran = rmctl("delete", "pool/a", "--uid", "x")
    assert (ran.code, api.requests[0].body["preconditions"]) == (3, {"uid": "x"})


@pytest.mark.req("B36")
@pytest.mark.parametrize(
    "words", [("delete", "job", "--all"), ("delete", "pools"), ("delete",), ("delete", "job", "-h")]
)
def test_nothing_deletes_everything(api: FakeApi, rmctl: Rmctl, words: tuple[str, ...]) -> None:
    ran = rmctl(*words)
    assert ran.code == 2 or "usage" in ran.out.lower()
    assert [request for request in api.requests if request.method == "DELETE"] == []


def test_what_a_file_describes_is_deleted_last_first(api: FakeApi, rmctl: Rmctl, tmp_path: Path) -> None:
    text = "\n---\n".join(f"kind: pool\nmetadata: {{name: {name}}}" for name in "ab")
    (tmp_path / "pools.yaml").write_text(text, encoding="utf-8")
    for name in "ab":
        api.on(f"DELETE pools/{name}", Answer({}))
    assert rmctl("delete", "-f", str(tmp_path / "pools.yaml"), "--wait=false").out == (
        "pool/b is being deleted\npool/a is being deleted\n"
    )


# small writes


def patched(api: FakeApi, path: str) -> Any:
    (sent,) = api.sent("PATCH", path)
    assert (sent.content_type, sent.query) == ("application/merge-patch+json", {"fieldManager": "rmctl-verbs"})
    return sent.body["spec"]


def test_start_and_stop_write_active(api: FakeApi, rmctl: Rmctl) -> None:
    for name in ("a.primary.x", "a.backup.x"):
        api.on(f"PATCH jobs/{name}", Answer(a_job(name, ("True", "Dormant"))))
    assert rmctl("start", "a/primary/x").out == "job/a/primary/x may run\n"
    assert rmctl("stop", "job/a/backup/x", "--now").err == "Next: rmctl start a/backup/x\n"
    assert patched(api, "jobs/a.primary.x") == {"active": True}
    assert set(patched(api, "jobs/a.backup.x")) == {"active", "restartedAt"}


def test_a_stopped_job_that_still_runs_is_told(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("PATCH jobs/a.primary.x", Answer(a_running_job("a/primary/x", "node-a", 7)))
    ran = rmctl("stop", "a/x")
    assert (ran.out, ran.err.splitlines()) == (
        "job/a/primary/x is held\n",
        ["job/a/primary/x runs on until it ends; --now ends it", "Next: rmctl start a/primary/x"],
    )


def test_a_verb_of_several_says_which(rmctl: Rmctl) -> None:
    ran = rmctl("repair")
    assert (ran.code, ran.err) == (2, "rmctl: error: repair: one of queue\nhint: rmctl repair --help\n")


def test_a_restart_waits_until_it_is_ready_again(api: FakeApi, rmctl: Rmctl) -> None:
    again = a_bundle("True", "AllRunning", generation=2)
    api.on("PATCH bundles/hello", Answer(a_bundle("True", "AllRunning", generation=2, observed=1)))
    api.lists("bundles", again)
    ran = rmctl("restart", "bundle/hello")
    assert (ran.code, ran.out) == (0, "bundle/hello restarted\n")
    assert list(patched(api, "bundles/hello")) == ["restartedAt"]
    assert rmctl("restart", "pool/local").code == 2


def test_cordon_keeps_its_reason_and_uncordon_drops_it(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("PATCH nodes/n1", Answer(a_node("n1", 0, 0)))
    assert rmctl("cordon", "n1", "--reason", "disk").out == "node/n1 cordoned\n"
    assert patched(api, "nodes/n1") == {"cordoned": True, "cordonReason": "disk"}
    api.requests.clear()
    assert rmctl("uncordon", "node/n1").out == "node/n1 uncordoned\n"
    assert patched(api, "nodes/n1") == {"cordoned": False, "cordonReason": None}


def test_a_token_is_all_that_node_token_prints(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("POST tokens", Answer({"token": "t0k", "agents": ["unix:/run/a b/agents.sock", "127.0.0.1:7070"]}))
    assert rmctl("node", "token", "mybox", "--label", "rack=3") == Ran(0, "t0k\n", "")
    assert api.requests[0].body == {"node": "mybox", "labels": {"rack": "3"}}
    ran = rmctl("node", "join", "node-d", "--capacity", "8", "--capability", "nvenc", "--pool", "local")
    assert ran.out == (
        "rmctl agent --node node-d --pool local --capacity 8 --capability nvenc --server 127.0.0.1:7070 --token t0k\n"
    )


def test_a_node_that_will_not_come_back_is_given_up(api: FakeApi, rmctl: Rmctl) -> None:
    silent = a_node("n1", 0, 0)
    for one in silent["status"]["conditions"]:
        one["status"] = "Unknown"
    api.on("GET nodes/n1", Answer(silent))
    api.on("PATCH nodes/n1", Answer(silent))
    assert rmctl("node", "lost", "n1").out == "node/n1 is given up\n"
    body = api.requests[-1].body
    assert body is not None
    assert list(body["metadata"]["annotations"]) == ["rmctl/lost", "rmctl/lost-reason"]


def test_no_problems_is_not_no_resources(api: FakeApi, rmctl: Rmctl) -> None:
    api.lists("jobs", a_running_job("a/primary/b", "n", 1))
    ran = rmctl("get", "jobs", "--problems")
    assert (ran.code, ran.out, ran.err) == (0, "", "no jobs with problems in project default\n")


# server, version


def test_the_server_says_what_it_is(api: FakeApi, rmctl: Rmctl) -> None:
    facts = {"pid": 41, "version": "0.1.0", "data": "/d", "listeners": [], "ready": True, "held": None}
    api.on("GET server", Answer(facts))
    assert rmctl("server", "status", "-o", "jsonpath={.pid}").out == "41\n"
    assert (
        rmctl("server", "status").out == f"server runs at {api.address}, pid 41.\n\n"
        "version    0.1.0\ndata       /d\nlisteners  -\nready      yes\nheld       -\n"
    )


def test_stopping_what_does_not_run_is_done_already(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = f"unix:{tmp_path}/no.sock"
    code = main(["--server", address, "server", "stop"])
    assert (code, capsys.readouterr().out) == (0, f"no server runs at {address}\n")


def test_a_stopped_server_is_waited_for_until_it_has_left_its_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its doors are shut before its log is merged: who restores a backup at that moment would write into it."""
    polls: list[bool] = []
    with tempfile.TemporaryDirectory(prefix="rmctl-") as folder, contextlib.ExitStack() as serves:
        api = serves.enter_context(serving(Path(folder)))

        def stop(_request: Request) -> Answer:
            threading.Thread(target=serves.close).start()
            return Answer({}, 202, {"Connection": "close"})

        def looked(_seconds: float) -> None:
            with contextlib.suppress(ConnectionRefusedError), socket.socket(socket.AF_UNIX) as door:
                door.connect(str(api.socket))
                return
            polls.append(True)
            if len(polls) == 3:
                api.socket.unlink()

        monkeypatch.setattr("time.sleep", looked)
        api.on("GET server", Answer({"pid": os.getpid()}, headers={"Connection": "close"}))
        api.on("POST server/stop", stop)
        assert main(["--server", api.address, "server", "stop"]) == 0
    assert len(polls) == 3
    assert capsys.readouterr().out == f"server stopped, pid {os.getpid()}\n"


def test_both_versions_are_told(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("GET /version", Answer({"gitVersion": "v0.1.0"}))
    assert rmctl("version").out == f"rmctl   0.1.0\nserver  0.1.0  {api.address}\n"
    assert json.loads(rmctl("version", "-o", "json").out) == {"client": "0.1.0", "server": "0.1.0"}


# logs


def test_logs_are_of_the_only_job_of_a_bundle(api: FakeApi, rmctl: Rmctl) -> None:
    api.lists("jobs", a_running_job("hello/primary/web", "node-a", 1), a_running_job("two/primary/a", "n", 2))
    api.on("GET jobs/hello.primary.web/log", Answer("one\ntwo\nthree\n"))
    assert rmctl("logs", "hello").out == "one\ntwo\nthree\n"
    assert rmctl("logs", "hello/web", "--tail", "1").out == "three\n"
    assert rmctl("logs", "hello/primary/web", "--tail", "0").out == ""
    rmctl("logs", "job/hello/primary/web", "--previous")
    assert api.requests[-1].query == {"tailBytes": "65536", "previous": "true"}
    assert rmctl("logs", "nosuch").code == 3
    assert rmctl("logs", "hello", "-f", "--previous").code == 2


def test_logs_follow_until_the_server_ends_them(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("GET jobs/hello.primary.web/log", Answer("one\ntwo\n"))
    assert rmctl("logs", "hello/primary/web", "-f") == Ran(0, "one\ntwo\n", "")
