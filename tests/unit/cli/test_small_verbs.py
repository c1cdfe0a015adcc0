"""The verbs that kubectl's users look for: what they send, what they print, and how they end."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.editable import merge_patch
from cli.main import main
from tests.cli_objects import a_node, a_pool, a_running_job, an_object, the_demo
from tests.cli_runs import Ran, Rmctl
from tests.fake_api import Answer, FakeApi, Request, status

Golden = Callable[[str, str], None]
MERGE = "application/merge-patch+json"


def kept(**metadata: Any) -> dict[str, Any]:
    """A node as it stands before a label is set."""
    found = a_node("node-a", 1, 2)
    found["metadata"] |= metadata
    return found


# label, annotate, patch


def test_a_label_is_set_with_the_version_it_was_looked_at_in(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("GET nodes/node-a", Answer(kept()))
    api.on("PATCH nodes/node-a", Answer(kept()))
    ran = rmctl("label", "node/node-a", "disk=ssd", "old-")
    assert (ran.code, ran.out) == (0, "node/node-a labelled\n")
    (sent,) = api.sent("PATCH", "nodes/node-a")
    assert sent.body == {"metadata": {"labels": {"disk": "ssd", "old": None}, "resourceVersion": "5"}}
    assert (sent.content_type, sent.query) == (MERGE, {"fieldManager": "rmctl-verbs"})


def test_another_value_is_not_lost_unasked(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("GET nodes/node-a", Answer(kept(labels={"disk": "hdd"})))
    api.on("PATCH nodes/node-a", Answer(kept()))
    refused = rmctl("label", "node", "node-a", "disk=ssd")
    assert refused == Ran(
        3, "", 'rmctl: error: (Conflict) node/node-a: label disk is "hdd" now\nhint: --overwrite changes it\n'
    )
    assert rmctl("label", "node", "node-a", "disk=ssd", "--overwrite").code == 0
    (sent,) = api.sent("PATCH", "nodes/node-a")
    assert sent.body == {"metadata": {"labels": {"disk": "ssd"}}}


def test_a_selector_names_many(api: FakeApi, rmctl: Rmctl) -> None:
    api.lists("nodes", a_node("node-a", 1, 1), a_node("node-b", 1, 1))
    for name in ("node-a", "node-b"):
        api.on(f"PATCH nodes/{name}", Answer(kept()))
    assert rmctl("annotate", "nodes", "-l", "zone=a", "note=x").out == "node/node-a annotated\nnode/node-b annotated\n"
    assert api.requests[0].query == {"labelSelector": "zone=a"}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("node/a",), "which labels: KEY=VALUE sets one, KEY- removes one"),
        (("nodes", "a=b"), "node: a name or a selector (-l) is needed"),
        (("node/a", "-l", "x", "a=b"), "a selector and a name do not go together"),
        (("node/a", "=b"), '"=b": expected KEY=VALUE or KEY-'),
        (("node/a", "a=b", "a-"), '"a" is named twice'),
    ],
)
def test_a_label_that_cannot_be_meant_is_refused(rmctl: Rmctl, words: tuple[str, ...], line: str) -> None:
    ran = rmctl("label", *words)
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"rmctl: error: {line}")


@pytest.mark.parametrize(
    ("type_", "text", "body", "media"),
    [
        ("merge", '{"spec": {"priority": 5}}', {"spec": {"priority": 5}}, MERGE),
        ("merge", "spec: {priority: 5}", {"spec": {"priority": 5}}, MERGE),
        ("strategic", '{"spec": {}}', {"spec": {}}, "application/strategic-merge-patch+json"),
        (
            "json",
            '[{"op": "remove", "path": "/spec/x"}]',
            [{"op": "remove", "path": "/spec/x"}],
            "application/json-patch+json",
        ),
    ],
)
def test_a_patch_goes_as_it_was_given(api: FakeApi, rmctl: Rmctl, type_: str, text: str, body: Any, media: str) -> None:
    api.on("PATCH bundles/hello", Answer(an_object("bundle", "hello", ("True", "AllRunning"))))
    ran = rmctl("patch", "bundle/hello", "--type", type_, "--patch", text)
    assert (ran.code, ran.out) == (0, "bundle/hello patched\n")
    (sent,) = api.sent("PATCH", "bundles/hello")
    assert (sent.body, sent.content_type) == (body, media)


@pytest.mark.parametrize("words", [("label", "x-"), ("annotate", "x-"), ("patch", "--patch", "{}")])
def test_a_write_that_changes_nothing_says_so(api: FakeApi, rmctl: Rmctl, words: tuple[str, ...]) -> None:
    hello = an_object("bundle", "hello", ("True", "AllRunning"))
    api.on("GET bundles/hello", Answer(hello))
    api.on("PATCH bundles/hello", Answer(hello, headers={"Rmctl-Outcome": "unchanged"}))
    assert rmctl(words[0], "bundle/hello", *words[1:]) == Ran(0, "bundle/hello unchanged\n", "")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--patch", '{"a": 1, "a": 2}'), '--patch:1:10: a: duplicate key "a"'),
        (("--patch", "[]"), "a merge patch is an object"),
        (("--type", "json", "--patch", "{}"), "a json patch is a list of operations"),
        (("--type", "apply", "--patch", "{}"), '--type "apply": one of merge, strategic, json'),
        ((), "give the patch with --patch TEXT or with --patch-file FILE"),
        (("--patch-file", "/nosuch"), "/nosuch: no such file"),
    ],
)
def test_a_patch_that_cannot_be_read_is_refused(rmctl: Rmctl, words: tuple[str, ...], line: str) -> None:
    ran = rmctl("patch", "bundle/hello", *words)
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"rmctl: error: {line}")


# edit


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A shell script as the editor; what it was given is kept in a file, one call after another."""

    def install(script: str) -> Path:
        path, seen = tmp_path / "editor.sh", tmp_path / "seen"
        path.write_text(f'#!/bin/sh\ncat "$1" >> {seen}\n{script}\n', encoding="utf-8")
        path.chmod(0o755)
        monkeypatch.setenv("EDITOR", str(path))
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.delenv("RMCTL_EDITOR", raising=False)
        return seen

    return install


def a_spec(**fields: Any) -> dict[str, Any]:
    return an_object("bundle", "hello", ("True", "AllRunning"), spec={"pool": "default", "priority": 1, **fields})


def test_what_an_editor_changed_is_sent_as_the_difference(
    api: FakeApi, rmctl: Rmctl, editor: Callable[[str], Path]
) -> None:
    seen = editor("sed -i 's/priority: 1/priority: 7/' \"$1\"")
    api.on("GET bundles/hello", Answer(a_spec()))
    api.on("PATCH bundles/hello", Answer(a_spec()))
    assert rmctl("edit", "bundle/hello").out == "bundle/hello edited\n"
    (sent,) = api.sent("PATCH", "bundles/hello")
    assert sent.body == {"spec": {"priority": 7}, "metadata": {"resourceVersion": "5"}}
    page = seen.read_text(encoding="utf-8")
    assert page.startswith("# bundle/hello. What stands here is taken")
    assert "status" not in page
    assert "uid" not in page


def test_a_refusal_comes_back_on_top_and_a_second_try_counts(
    api: FakeApi, rmctl: Rmctl, editor: Callable[[str], Path]
) -> None:
    script = 'if grep -q "error" "$1"; then sed -i "s/priority: .*/priority: 2/" "$1"; '
    seen = editor(f'{script}else sed -i "s/priority: .*/priority: 5000/" "$1"; fi')
    causes = [{"field": "spec.priority", "message": "must be <= 1000"}]
    api.on("GET bundles/hello", Answer(a_spec()))
    api.on("PATCH bundles/hello", status(422, "Invalid", "…", causes=causes), Answer(a_spec()))
    assert rmctl("edit", "bundle/hello").out == "bundle/hello edited\n"
    assert "# error: spec.priority: must be <= 1000\n" in seen.read_text(encoding="utf-8")
    assert [one.body["spec"]["priority"] for one in api.sent("PATCH", "bundles/hello")] == [5000, 2]


def test_what_is_handed_in_twice_as_it_stands_ends_the_edit_and_is_kept(
    api: FakeApi, rmctl: Rmctl, editor: Callable[[str], Path]
) -> None:
    editor("sed -i 's/priority: 1/priority: [/' \"$1\"")
    api.on("GET bundles/hello", Answer(a_spec()))
    ran = rmctl("edit", "bundle/hello")
    assert (ran.code, ran.out, api.sent("PATCH", "bundles/hello")) == (2, "", [])
    left = Path(ran.err.splitlines()[0].removeprefix("What you wrote is kept in "))
    assert "priority: [" in left.read_text(encoding="utf-8")
    left.unlink()


def test_a_script_that_is_refused_twice_is_not_asked_again(
    api: FakeApi, rmctl: Rmctl, editor: Callable[[str], Path]
) -> None:
    editor("echo 'nonsense: [' >> \"$1\"")
    api.on("GET bundles/hello", Answer(a_spec()))
    ran = rmctl("edit", "bundle/hello")
    assert (ran.code, api.sent("PATCH", "bundles/hello")) == (2, [])
    left = Path(ran.err.splitlines()[0].removeprefix("What you wrote is kept in "))
    assert left.read_text(encoding="utf-8").count("nonsense: [\n") == 2
    left.unlink()


@pytest.mark.parametrize("script", ["true", ': > "$1"'])
def test_an_unchanged_or_empty_file_changes_nothing(
    api: FakeApi, rmctl: Rmctl, editor: Callable[[str], Path], script: str
) -> None:
    editor(script)
    api.on("GET bundles/hello", Answer(a_spec()))
    assert rmctl("edit", "bundle/hello") == Ran(0, "bundle/hello unchanged\n", "")


def test_an_editor_that_fails_or_is_not_there_stores_nothing(
    api: FakeApi, rmctl: Rmctl, editor: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    api.on("GET bundles/hello", Answer(a_spec()))
    editor("exit 3")
    assert (rmctl("edit", "bundle/hello").code, len(api.requests)) == (5, 1)
    monkeypatch.setenv("EDITOR", "/nosuch/editor")
    ran = rmctl("edit", "bundle/hello")
    assert ran.err.splitlines() == [
        "rmctl: error: editor /nosuch/editor: No such file or directory",
        "hint: set EDITOR",
    ]


def test_a_resource_keeps_its_name_in_an_edit(api: FakeApi, rmctl: Rmctl, editor: Callable[[str], Path]) -> None:
    editor("sed -i 's/name: hello/name: other/' \"$1\"")
    api.on("GET bundles/hello", Answer(a_spec()))
    assert "metadata.name: an edit keeps it; apply makes another resource" in rmctl("edit", "bundle/hello").err


def test_texts_that_read_as_something_else_are_quoted(
    api: FakeApi, rmctl: Rmctl, editor: Callable[[str], Path]
) -> None:
    texts = {
        "a": "1",
        "b": "true",
        "c": "null",
        "d": "0x1f",
        "e": "1e3",
        "f": "no",
        "g": "two\nlines",
        "h": "",
        "i": ".inf",
    }
    editor("sed -i 's/priority: 1/priority: 2/' \"$1\"")
    api.on("GET bundles/hello", Answer(a_spec(jobs=[{"env": texts}])))
    api.on("PATCH bundles/hello", Answer(a_spec()))
    assert rmctl("edit", "bundle/hello").code == 0
    (sent,) = api.sent("PATCH", "bundles/hello")
    assert sent.body["spec"] == {"priority": 2}


def test_a_merge_patch_makes_one_of_the_other() -> None:
    before = {"a": 1, "b": {"c": 1, "d": 2}, "e": [1, {"f": True}], "g": {}}
    after = {"a": True, "b": {"c": 1}, "e": [1, {"f": 1}], "g": {}, "h": 0}
    assert merge_patch(before, after) == {"a": True, "b": {"d": None}, "e": [1, {"f": 1}], "h": 0}


# diff


def test_a_diff_shows_what_would_change_and_ends_with_1(api: FakeApi, rmctl: Rmctl, tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("kind: bundle\nmetadata: {name: hello}\nspec: {}\n", encoding="utf-8")
    after = a_spec(priority=2)
    after["spec"] = dict(reversed(after["spec"].items()))
    item = {"kind": "bundle", "name": "hello", "project": "default", "outcome": "configured", "object": after}
    api.on("GET bundles/hello", Answer(a_spec()))
    api.on("POST batch", Answer({"items": [item]}), Answer({"items": [{**item, "object": a_spec()}]}))
    changed, same = rmctl("diff", "-f", str(tmp_path)), rmctl("diff", "-f", str(tmp_path))
    assert (changed.code, same) == (1, Ran(0, "", ""))
    assert [line for line in changed.out.splitlines() if line[0] in "+-"] == [
        "--- bundle/hello (live)",
        "+++ bundle/hello (applied)",
        "-  priority: 1",
        "+  priority: 2",
    ]
    assert api.sent("POST", "batch")[0].body["dryRun"] is True


# get -w


@pytest.mark.parametrize("form", ["", "wide", "name"])
def test_a_watch_prints_a_table_and_then_what_changes(api: FakeApi, rmctl: Rmctl, golden: Golden, form: str) -> None:
    """Columns are as wide as the first table needs; what only grew older is no news."""
    first = [a_node("node-with-a-name-that-is-rather-long", 1, 2), a_node("node-b", 1, 1)]
    moved = a_node("node-b", 2, 2)
    end = {"type": "ERROR", "object": {"code": 403, "reason": "Forbidden", "message": "the test is over"}}

    def reply(request: Request) -> Answer:
        if "watch" not in request.query:
            return Answer({"metadata": {"resourceVersion": "7"}, "items": first})
        lines = [("MODIFIED", first[1]), ("MODIFIED", moved), ("DELETED", moved)]
        return Answer(lines=(*({"type": type_, "object": document} for type_, document in lines), end))

    api.on("GET nodes", reply)
    api.lists("pools", a_pool())
    ran = rmctl("get", "nodes", "-w", *(["-o", form] if form else []))
    assert (ran.code, ran.err.splitlines()[-1]) == (3, "rmctl: error: (Forbidden) the test is over")
    golden(f"cli/watch-nodes{'-' * bool(form)}{form}.txt", re.sub(r"  \d+[smhd]  ", "  AGE  ", ran.out))


# what needs no server


def test_explain_tells_the_fields_of_a_kind(rmctl: Rmctl, golden: Golden, api: FakeApi) -> None:
    words = ("bundle.spec.jobs", "bd.spec.jobs.readiness", "pool.spec.tiers[0].kind", "bundle.spec.jobs.env.LEVEL")
    told = "\n".join(f"$ rmctl explain {word}\n{rmctl('explain', word).out}" for word in words)
    golden("cli/explain.txt", told)
    assert api.requests == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("bundle.spec.jobz", 'bundle.spec has no field "jobz" (did you mean jobs?)'),
        ("bundle.spec.pool.x", 'bundle.spec.pool has no field "x"'),
        ("bundel", 'unknown kind "bundel" (did you mean bundle?)'),
    ],
)
def test_explain_refuses_what_is_not_there(api: FakeApi, rmctl: Rmctl, path: str, line: str) -> None:
    api.on("GET ", Answer({"resources": []}))
    api.on("GET /apis/rmctl/v1", Answer({"resources": []}))
    ran = rmctl("explain", path)
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"rmctl: error: {line}")


@pytest.mark.parametrize("kind", ["bundle", "pool", "template"])
def test_a_starter_is_valid_as_it_stands(api: FakeApi, rmctl: Rmctl, golden: Golden, tmp_path: Path, kind: str) -> None:
    ran = rmctl("init", kind, "mine")
    golden(f"cli/init-{kind}.txt", ran.out)
    (tmp_path / "mine.yaml").write_text(ran.out, encoding="utf-8")
    checked = rmctl("validate", "-f", str(tmp_path / "mine.yaml"))
    assert (checked.code, checked.out, api.requests) == (0, f"{kind}/mine is valid\n", [])


def test_a_schema_says_what_the_examples_are(rmctl: Rmctl) -> None:
    whole = json.loads(rmctl("schema").out)
    assert [one["$ref"] for one in whole["oneOf"]][:3] == ["#/$defs/pool", "#/$defs/node", "#/$defs/bundle"]
    bundle = json.loads(rmctl("schema", "bundle").out)
    assert bundle["properties"]["spec"]["required"] == ["pool", "jobs"]
    assert "$defs" in bundle
    assert rmctl("schema", "drone").code == 2


def test_a_description_calls_fields_as_a_manifest_does(rmctl: Rmctl) -> None:
    texts = [rmctl("schema").out, *(rmctl("explain", kind, "--recursive").out for kind in ("pool", "node", "job"))]
    assert [found for text in texts for found in re.findall(r"`[a-z]+_[a-z_]+`", text)] == []


# top, api-resources, completion


def test_top_counts_what_is_claimed(api: FakeApi, rmctl: Rmctl, golden: Golden) -> None:
    for plural, items in the_demo().items():
        api.lists(plural, *items)
    pool = a_pool()
    pool["status"] |= {
        "totalCapacity": 12.0,
        "claimedCapacity": 4.0,
        "usedCapacityFraction": 0.3333,
        "waitingJobs": 1,
        "nodeCount": 3,
    }
    api.lists("pools", pool)
    golden(
        "cli/top.txt", "\n".join(f"$ rmctl top {what}\n{rmctl('top', what).out}" for what in ("nodes", "pools", "jobs"))
    )
    assert rmctl("top", "templates").code == 2


def test_the_kinds_are_listed(api: FakeApi, rmctl: Rmctl) -> None:
    entry = {"name": "pools", "kind": "pool", "namespaced": False, "verbs": ["get", "list"], "shortNames": ["po"]}
    api.on("GET /apis/rmctl/v1", Answer({"resources": [entry, {"name": "pools/status"}]}))
    assert rmctl("api-resources", "--no-headers").out.split() == ["pools", "po", "pool", "no", "get,list"]
    assert rmctl("api-resources", "-o", "name").out == "pools\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_a_script_that_asks_for_words(rmctl: Rmctl, shell: str) -> None:
    assert "rmctl complete -- " in rmctl("completion", shell).out
    assert rmctl("completion", "csh").code == 2


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("rmctl des", ["describe"]),
        ("rmctl get no", ["node/", "nodes"]),
        ("rmctl get node ", ["node-a", "node-b", "node-c"]),
        ("rmctl why job/h", ["job/hello/primary/web"]),
        ("rmctl logs fl", ["flaky/primary/worker"]),
        ("rmctl uncordon node-", ["node-a", "node-b", "node-c"]),
        ("rmctl node t", ["token"]),
        ("rmctl -p news node token --la", ["--label"]),
        ("rmctl plan --tr", ["--trace"]),
        ("rmctl explain bundle.spec.up", ["bundle.spec.update"]),
        ("rmctl explain po", ["pool."]),
        ("rmctl apply -f ", []),
        ("rmctl nosuch ", []),
        ("", []),
    ],
)
def test_completion_offers_what_could_come_next(api: FakeApi, rmctl: Rmctl, line: str, words: list[str]) -> None:
    for plural, items in the_demo().items():
        api.lists(plural, *items)
    found = rmctl("complete", "--", line)
    assert (found.code, found.err) == (0, "")
    if words or line.endswith("-f "):
        assert found.out.split() == words


def test_completion_without_a_server_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "--", "rmctl get node "]) == 0
    assert capsys.readouterr() == ("", "")


# pause, reconcile, effects, repair, metrics


def test_a_pause_is_an_annotation_with_its_reason(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("PATCH bundles/hello", Answer(a_spec()))
    assert rmctl("pause", "bundle/hello", "--reason", "why not").out == "bundle/hello paused\n"
    assert rmctl("resume", "bundle/hello").out == "bundle/hello resumed\n"
    bodies = [one.body["metadata"]["annotations"]["rmctl/paused"] for one in api.sent("PATCH", "bundles/hello")]
    assert bodies == ["why not", None]


def test_a_pass_can_be_asked_for(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("POST bundles/hello/reconcile", Answer({"kind": "bundle", "name": "hello"}, 202))
    api.on("POST queue/rebuild", Answer({"woken": 7, "dropped": 1}))
    assert rmctl("reconcile", "bundle/hello").out == "bundle/hello woken\n"
    assert rmctl("repair", "queue").out == "queue rebuilt: 7 woken, 1 dropped\n"


def test_patch_takes_its_text_as_kubectl_has_it(api: FakeApi, rmctl: Rmctl) -> None:
    """`-p` is the project elsewhere, and no project begins with a brace."""
    api.on("PATCH bundles/hello", Answer(a_spec()))
    for words in (("-p", '{"spec": {"priority": 1}}'), ('-p{"spec": {"priority": 1}}',)):
        assert rmctl("patch", "bundle/hello", *words).code == 0
    assert [one.body for one in api.sent("PATCH", "bundles/hello")] == [{"spec": {"priority": 1}}] * 2


def test_an_effect_that_is_not_open_is_not_found(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("GET effects", Answer({"items": []}))
    ran = rmctl("effects", "resolve", "start/1/1", "--absent", "--reason", "not there")
    assert (ran.code, ran.err.splitlines()[0]) == (3, 'rmctl: error: (NotFound) no open effect has the key "start/1/1"')


def test_logs_of_a_bundle_with_one_job_are_those_of_the_job(api: FakeApi, rmctl: Rmctl) -> None:
    api.lists("jobs", a_running_job("hello/primary/web", "node-a", 1))
    api.on("GET jobs/hello.primary.web/log", Answer("words\n"))
    assert rmctl("logs", "bundle/hello").out == rmctl("logs", "hello").out == "words\n"


EFFECT = {"id": "u1:start/1/1", "uid": "u1", "key": "start/1/1", "state": "indeterminate", "kind": "StartJob"}


def test_an_effect_is_resolved_by_its_key_where_that_is_enough(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("GET effects", Answer({"items": [EFFECT, {**EFFECT, "state": "applied", "id": "u2:start/1/1"}]}))

    def resolved(request: Request) -> Answer:
        return Answer({**EFFECT, "state": "applied", "owner": {"kind": "job", "name": "a.primary.b"}})

    api.on("POST effects/resolve", resolved)
    ran = rmctl("effects", "resolve", "start/1/1", "--adopt", "i-1", "--reason", "seen in the console")
    assert (ran.out, ran.err) == ("effect u1:start/1/1 is applied\n", "Next: rmctl describe job/a/primary/b\n")
    (sent,) = api.sent("POST", "effects/resolve")
    assert sent.body == {"id": "u1:start/1/1", "adopt": "i-1", "reason": "seen in the console"}
    rmctl("effects", "resolve", "u1:start/1/1", "--absent", "--reason", "not there")
    assert api.sent("POST", "effects/resolve")[1].body == {"id": "u1:start/1/1", "absent": True, "reason": "not there"}


def test_a_key_may_have_a_colon(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("GET effects", Answer({"items": [{**EFFECT, "id": "u1:write:1", "key": "write:1"}]}))
    api.on("POST effects/resolve", Answer({**EFFECT, "state": "applied", "owner": {"kind": "note", "name": "one"}}))
    for given in ("write:1", "u1:write:1"):
        assert rmctl("effects", "resolve", given, "--adopt", "x", "--reason", "seen").code == 0
    assert [one.body["id"] for one in api.sent("POST", "effects/resolve")] == ["u1:write:1"] * 2


@pytest.mark.parametrize(
    "words",
    [
        ("u1:k", "--adopt", "x"),
        ("u1:k", "--absent"),
        ("u1:k", "--reason", "x"),
        ("u1:k", "--absent", "--adopt", "x", "--reason", "x"),
    ],
)
def test_an_effect_is_resolved_one_way_and_with_a_reason(api: FakeApi, rmctl: Rmctl, words: tuple[str, ...]) -> None:
    api.on("GET effects", Answer({"items": [EFFECT]}))
    ran = rmctl("effects", "resolve", *words)
    assert (ran.code, api.sent("POST", "effects/resolve")) == (2, [])


def test_metrics_come_as_they_stand(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("GET /metrics", Answer("# HELP rm_x\nrm_x 1.0\n"))
    assert rmctl("metrics").out == "# HELP rm_x\nrm_x 1.0\n"


def test_output_of_a_command_reaches_a_pipe_byte_by_byte(api: FakeApi, rmctl: Rmctl) -> None:
    api.on("GET jobs/hello.primary.web", Answer(a_running_job("hello/primary/web", "node-a", 1)))
    api.on("POST jobs/hello.primary.web/exec", Answer({"code": 4, "stdout": "aGkK", "stderr": "", "node": "node-a"}))
    ran = rmctl("exec", "hello/primary/web", "--timeout", "5s", "--", "echo", "--hi")
    assert (ran.code, ran.out) == (4, "hi\n")
    (sent,) = api.sent("POST", "jobs/hello.primary.web/exec")
    assert sent.body == {"command": ["echo", "--hi"], "timeoutSeconds": 5.0, "input": ""}


def test_describe_shows_the_cards_of_a_node_and_the_devices_of_a_job(api: FakeApi, rmctl: Rmctl) -> None:
    node, job = a_node("node-a", 1, 1), a_running_job("hello/primary/web", "node-a", 77)
    node["status"]["gpus"] = [
        {"index": 0, "id": "GPU-a", "model": "H100", "reserved": 0.5, "healthy": True},
        {"index": 1, "id": "GPU-b", "reserved": 0, "healthy": False},
    ]
    job["status"]["devices"] = ["GPU-a", "GPU-c"]
    api.lists("nodes", node)
    api.lists("jobs", job)
    api.lists("pools")
    for path in ("effects", "events"):
        api.on(f"GET {path}", Answer({"items": []}))
    told = rmctl("describe", "node", "node-a").out
    assert "GPU-a, H100, 0.5 of 1 claimed\n" in told
    assert "GPU-b, 0 of 1 claimed, sick\n" in told
    assert "GPU-a, GPU-c" in rmctl("describe", "job/hello/primary/web").out


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "{"])
def test_the_value_of_a_step_is_json(rmctl: Rmctl, value: str) -> None:
    ran = rmctl("runs", "resume", "r", "--value", value, "--reason", "x")
    assert (ran.code, "--value: expected JSON" in ran.err) == (2, True)


# dev replay


@pytest.mark.parametrize("word", ["٣", "job", "nodes"])
def test_what_names_no_decision_is_a_mistake_of_the_command_line(rmctl: Rmctl, word: str) -> None:
    ran = rmctl("dev", "replay", word)
    assert (ran.code in (2, 3), "mistake in rmctl" in ran.err) == (True, False), ran.err
