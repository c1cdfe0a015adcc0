"""Stock kubectl against a real server and a real node, through the kubeconfig that rmctl prints."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli_runs import Ran
from tests.fleet import Fleet, a_fleet


class Kubectl:
    """kubectl as installed: without it these tests fail, they are not left out."""

    def __init__(self, fleet: Fleet) -> None:
        self.folder = fleet.folder
        self.rmctl = fleet.rmctl
        fleet.server("--http", "https://127.0.0.1:0")
        fleet.agent("node-k", "--capacity", "4", "--address", "127.0.0.1")
        config = fleet.rmctl("config", "kubeconfig")
        assert config.code == 0, config.err
        (self.folder / "kubeconfig").write_text(config.out)
        self.environment = {**os.environ, "KUBECONFIG": str(self.folder / "kubeconfig"), "HOME": str(self.folder)}

    def __call__(self, *words: str, stdin: str = "") -> Ran:
        ran = subprocess.run(
            ["kubectl", *words], env=self.environment, input=stdin, capture_output=True, text=True, check=False
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def ok(self, *words: str, stdin: str = "") -> str:
        ran = self(*words, stdin=stdin)
        assert ran.code == 0, ran.err
        return ran.out

    def apply(self, document: dict[str, Any], *flags: str) -> str:
        return self.ok("apply", *flags, "-f", "-", stdin=json.dumps(document))


@pytest.fixture(scope="module")
def kubectl() -> Iterator[Kubectl]:
    with a_fleet() as fleet:
        yield Kubectl(fleet)


def a_bundle(name: str, *, priority: int = 0, **labels: str) -> dict[str, Any]:
    requirements = {"requiredCapacity": 0.1, "onRuntimeFailure": "avoidSpare"}
    job = {"jobName": "web", "command": ["sleep", "100000"], "requirements": requirements}
    return {
        "apiVersion": "rmctl/v1",
        "kind": "bundle",
        "metadata": {"name": name, **({"labels": labels} if labels else {})},
        "spec": {"pool": "default", "priority": priority, "jobs": [job]},
    }


def test_get_prints_the_servers_table_and_plain_values(kubectl):
    kubectl.apply(a_bundle("got", app="seen"))
    assert kubectl.ok("wait", "--for=condition=Ready", "bundle/got", "--timeout=60s") == (
        "bundle.rmctl/got condition met\n"
    )
    rows = [line.split() for line in kubectl.ok("get", "bundles", "-l", "app=seen", "-o", "wide").splitlines()]
    assert rows[0] == ["NAME", "READY", "REASON", "AGE", "WHERE", "DETAIL"]
    assert [row[:3] + row[4:] for row in rows[1:]] == [
        ["got", "True", "AllRunning", "default", *"1 of 1 job runs".split()]
    ]
    assert kubectl.ok("get", "bd", "got", "-o", "jsonpath={.spec.pool}") == "default"
    assert kubectl.ok("get", "bundles", "-l", "app=other") == ""
    assert kubectl.ok("get", "jobs", "--no-headers", "-l", "rmctl/bundle=got").split()[:3] == [
        "got/primary/web",
        "True",
        "Running",
    ]
    everything = kubectl.ok("get", "all", "-o", "name").split()
    assert {"pool.rmctl/default", "node.rmctl/node-k", "bundle.rmctl/got"} <= set(everything)


def test_watch_goes_on_until_it_is_told_to_stop(kubectl):
    kubectl.apply(a_bundle("watched"))
    line = ["kubectl", "get", "bundle", "watched", "-w", "-o", 'jsonpath={.spec.priority}{"\\n"}']
    with subprocess.Popen(line, env=kubectl.environment, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        seen = {watching.stdout.readline().strip()}
        kubectl.apply(a_bundle("watched", priority=7))
        while "7" not in seen:
            text = watching.stdout.readline()
            assert text, f"the watch ended after {seen}"
            seen.add(text.strip())
        watching.terminate()
    assert seen == {"0", "7"}


def test_apply_creates_leaves_alone_and_configures(kubectl):
    assert kubectl.apply(a_bundle("applied")) == "bundle.rmctl/applied created\n"
    before = kubectl.ok("get", "bundle", "applied", "-o", "jsonpath={.metadata.generation}")
    assert kubectl.apply(a_bundle("applied")) == "bundle.rmctl/applied unchanged\n"
    assert kubectl.apply(a_bundle("applied", priority=3), "--dry-run=server") == (
        "bundle.rmctl/applied configured (server dry run)\n"
    )
    assert kubectl.ok("get", "bundle", "applied", "-o", "jsonpath={.metadata.generation}") == before
    assert kubectl.apply(a_bundle("applied", priority=3)) == "bundle.rmctl/applied configured\n"
    assert kubectl.ok("get", "bundle", "applied", "-o", "jsonpath={.spec.priority}") == "3"


def test_server_side_apply_owns_fields(kubectl):
    def version() -> str:
        return kubectl.ok("get", "bundle", "owned", "-o", "jsonpath={.metadata.generation}")

    document = a_bundle("owned")
    assert kubectl.apply(document, "--server-side") == "bundle.rmctl/owned serverside-applied\n"
    first = version()
    assert kubectl.apply(document, "--server-side") == "bundle.rmctl/owned serverside-applied\n"
    assert version() == first
    other = {**document, "spec": {**document["spec"], "priority": 9}}
    refused = kubectl("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=json.dumps(other))
    assert (refused.code, "spec.priority was set by kubectl" in refused.err) == (1, True)
    kubectl.apply(other, "--server-side", "--field-manager=other", "--force-conflicts")
    assert kubectl.ok("get", "bundle", "owned", "-o", "jsonpath={.spec.priority}") == "9"


def test_a_server_side_apply_takes_over_what_a_client_side_apply_set(kubectl):
    """As on a cluster: the same person's kubectl is no conflict with itself, and what is named no more goes."""
    kubectl.apply(a_bundle("handed", priority=1, app="a", tier="b"))
    assert kubectl.apply(a_bundle("handed", priority=2, app="a"), "--server-side") == (
        "bundle.rmctl/handed serverside-applied\n"
    )
    assert kubectl.ok("get", "bundle", "handed", "-o", "jsonpath={.spec.priority} {.metadata.labels}") == (
        '2 {"app":"a"}'
    )
    assert kubectl.apply(a_bundle("handed", priority=2, app="a")) == "bundle.rmctl/handed unchanged\n"
    kubectl.ok("patch", "bundle", "handed", "--field-manager=other", "--type=merge", "-p", '{"spec": {"priority": 7}}')
    refused = kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(a_bundle("handed", priority=3, app="a")))
    assert (refused.code, "spec.priority was set by other" in refused.err) == (1, True)


def test_can_i_is_answered_from_the_roles(kubectl):
    def may(*words: str) -> tuple[int, str]:
        ran = kubectl("auth", "can-i", *words)
        return ran.code, ran.out.splitlines()[-1]

    viewer = kubectl.folder / "viewer"
    viewer.write_text(kubectl.rmctl("config", "kubeconfig", "--name", "looks", "--role", "viewer").out)
    assert may("create", "bundles") == (0, "yes")
    assert may("create", "jobs.rmctl") == (1, "no - jobs do not take create")
    assert may("get", "/metrics") == (0, "yes")
    assert may("get", "bundles", f"--kubeconfig={viewer}") == (0, "yes")
    assert may("patch", "nodes", f"--kubeconfig={viewer}") == (
        1,
        'no - viewer "looks" may not cordon nodes: that takes the role operator',
    )


def test_can_i_lists_what_a_role_may(kubectl):
    def rows(*words: str) -> dict[str, str]:
        lines = kubectl.ok("auth", "can-i", "--list", "--no-headers", *words).splitlines()
        return {line.split()[0]: line.rpartition("[")[2].rstrip("]") for line in lines}

    viewer = kubectl.folder / "lists"
    viewer.write_text(kubectl.rmctl("config", "kubeconfig", "--name", "lists", "--role", "viewer").out)
    all_of_it, looked = rows(), rows(f"--kubeconfig={viewer}")
    assert (all_of_it["bundles.rmctl"], looked["bundles.rmctl"]) == (
        "get list watch create update patch delete",
        "get list watch",
    )
    assert (all_of_it["jobs.rmctl/exec"], "jobs.rmctl/exec" in looked) == ("create", False)
    assert (all_of_it["nodes"], looked["nodes"], looked["events"]) == (
        "get list watch patch",
        "get list watch",
        "list watch",
    )
    assert kubectl.ok("auth", "whoami", "-o", "jsonpath={.status.userInfo}", f"--kubeconfig={viewer}") == (
        '{"groups":["viewer"],"username":"lists"}'
    )


def test_events_are_told_as_core_events(kubectl):
    kubectl.apply(a_bundle("told"))
    listed = kubectl.ok("get", "events", "--no-headers", "--field-selector", "involvedObject.name=told").splitlines()
    assert ["Normal", "ResourceCreated", "bundle/told", "created"] in [line.split()[1:5] for line in listed]
    of_it = kubectl.ok("events", "--for", "bundle/told", "--no-headers").splitlines()
    assert {line.split()[3] for line in of_it} == {"bundle/told"}
    assert "kubectl created generation 1" in kubectl.ok("describe", "bundle", "told").partition("Events:")[2]
    assert "NodeStarted" in kubectl.ok("describe", "nodes.rmctl", "node-k").partition("Events:")[2]
    refused = kubectl("get", "events", "--field-selector", "spec.x=y")
    assert (refused.code, "cannot be selected by" in refused.err) == (1, True)


def test_events_are_watched(kubectl):
    line = ["kubectl", "get", "events", "-w", "--no-headers"]
    with subprocess.Popen(line, env=kubectl.environment, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline()
        kubectl.apply(a_bundle("seen-later"))
        while "bundle/seen-later" not in (text := watching.stdout.readline()):
            assert text, "the watch ended"
        watching.terminate()


def test_what_a_cluster_has_and_this_has_not_is_told_in_a_line(kubectl):
    assert "is running at" in kubectl.ok("cluster-info")
    assert kubectl.ok("get", "services") == ""
    assert "unschedulable" in kubectl.ok("explain", "node.spec")
    for words, text in (
        (("get", "pods"), "doesn't have a resource type"),
        (("create", "namespace", "x"), "namespaces are the projects of resources"),
        (("delete", "node", "node-k"), "kubectl delete nodes.rmctl NODE"),
        (("taint", "node", "node-k", "a=b:NoSchedule"), "the rest is in nodes.rmctl"),
    ):
        refused = kubectl(*words)
        assert (refused.code, text in refused.err, len(refused.err.splitlines())) == (1, True, 1), refused.err


def test_labels_and_annotations_of_core_nodes_are_those_of_the_node(kubectl):
    assert kubectl.ok("label", "node", "node-k", "rack=7") == "node/node-k labeled\n"
    kubectl.ok("annotate", "node", "node-k", "note=hello")
    shown = ("get", "nodes.rmctl", "node-k", "-o", "jsonpath={.metadata.labels.rack} {.metadata.annotations.note}")
    assert kubectl.ok(*shown) == "7 hello"
    assert kubectl.ok("get", "nodes", "-l", "rack=7", "-o", "name") == "node/node-k\n"
    kubectl.ok("label", "node", "node-k", "rack-")
    assert kubectl.ok(*shown) == " hello"
    refused = kubectl("label", "node", "node-k", "rmctl/driver.process=9", "--overwrite")
    assert (refused.code, "rmctl/" in refused.err) == (1, True)


def test_what_a_bundle_owns_is_not_left_behind(kubectl):
    kubectl.apply(a_bundle("owner"))
    kubectl.ok("wait", "--for=create", "job/owner.primary.web", "--timeout=60s")
    refused = kubectl("delete", "bundle", "owner", "--cascade=orphan")
    assert (refused.code, "job/owner/primary/web cannot be left behind" in refused.err) == (1, True)
    assert kubectl.ok("delete", "bundle", "owner", "--cascade=foreground") == 'bundle.rmctl "owner" deleted\n'


def test_prune_and_replace_by_force(kubectl):
    names = ("kept", "pruned")
    folder = kubectl.folder / "pruning"
    folder.mkdir()
    for name in names:
        (folder / f"{name}.json").write_text(json.dumps(a_bundle(name, app="pruning")))
    kubectl.ok("apply", "-f", str(folder))
    (folder / "pruned.json").unlink()
    allowed = ("--prune", "-l", "app=pruning", "--prune-allowlist=rmctl/v1/bundle")
    assert (
        kubectl.ok("apply", *allowed, "-f", str(folder)) == "bundle.rmctl/kept unchanged\nbundle.rmctl/pruned pruned\n"
    )
    uid = ("get", "bundle", "kept", "-o", "jsonpath={.metadata.uid}")
    before = kubectl.ok(*uid)
    kubectl.ok("replace", "--force", "-f", str(folder / "kept.json"))
    assert kubectl.ok(*uid) not in ("", before)


def test_scale_is_refused_with_a_sentence(kubectl):
    kubectl.apply(a_bundle("scaled"))
    refused = kubectl("scale", "bundle", "scaled", "--replicas=2")
    assert (refused.code, "bundles have no replicas to scale" in refused.err) == (1, True)


def test_diff_says_what_apply_would_change(kubectl):
    kubectl.apply(a_bundle("different"))
    same = kubectl("diff", "-f", "-", stdin=json.dumps(a_bundle("different")))
    assert (same.code, same.out) == (0, "")
    other = kubectl("diff", "-f", "-", stdin=json.dumps(a_bundle("different", priority=5)))
    assert (other.code, "+  priority: 5" in other.out) == (1, True)


def test_describe_shows_the_conditions(kubectl):
    kubectl.apply(a_bundle("described"))
    kubectl.ok("wait", "--for=condition=Available", "bundle/described", "--timeout=60s")
    told = kubectl.ok("describe", "bundle", "described")
    assert [
        text
        for text in ("Name:         described", "Type:                  Ready", "PrimaryRunning")
        if text not in told
    ] == []
    assert "Kind:         job" in kubectl.ok("describe", "job", "described.primary.web")


def test_label_annotate_patch_and_explain(kubectl):
    kubectl.apply(a_bundle("marked"))
    assert kubectl.ok("label", "bundle", "marked", "tier=gold") == "bundle.rmctl/marked labeled\n"
    assert "tier" in kubectl.ok("get", "bundle", "marked", "-o", "jsonpath={.metadata.labels}")
    kubectl.ok("label", "bundle", "marked", "tier-")
    assert kubectl.ok("get", "bundle", "marked", "-o", "jsonpath={.metadata.labels}") in ("", "{}")
    assert kubectl.ok("annotate", "bundle", "marked", "note=hello") == "bundle.rmctl/marked annotated\n"
    assert kubectl.ok(
        "get", "bundle", "marked", "-o", "jsonpath={.metadata.labels}{.metadata.annotations.note}"
    ).endswith("hello")
    kubectl.ok("patch", "bundle", "marked", "--type=merge", "-p", '{"spec": {"priority": 4}}')
    kubectl.ok(
        "patch", "bundle", "marked", "--type=json", "-p", '[{"op": "test", "path": "/spec/priority", "value": 4}]'
    )
    assert "requiredCapacity" in kubectl.ok("explain", "bundle.spec.jobs.requirements")
    assert "jobName\t<string> -required-" in kubectl.ok("explain", "bundle.spec.jobs")
    listed = {line.split()[0] for line in kubectl.ok("api-resources", "--no-headers").splitlines()}
    assert {"bundles", "jobs", "nodes", "pools", "templates"} <= listed


def test_what_is_wrong_in_a_manifest_is_told_by_field(kubectl):
    wrong = a_bundle("wrong")
    wrong["spec"]["jobs"][0]["requirements"]["onRuntimeFailure"] = "restrat"
    wrong["spec"]["prioritty"] = 1
    ran = kubectl("apply", "-f", "-", stdin=json.dumps(wrong))
    assert (ran.code, "prioritty" in ran.err) == (1, True)  # an old kubectl finds it by itself
    told = kubectl("apply", "--validate=false", "-f", "-", stdin=json.dumps(wrong))
    assert (told.code, "onRuntimeFailure" in told.err) == (1, True)
    assert kubectl("get", "bundle", "wrong").code == 1


def test_delete_waits_until_it_is_gone(kubectl):
    kubectl.apply(a_bundle("deleted"))
    kubectl.ok("wait", "--for=condition=Ready", "bundle/deleted", "--timeout=60s")
    assert kubectl.ok("delete", "bundle", "deleted", "--timeout=60s") == 'bundle.rmctl "deleted" deleted\n'
    again = kubectl("get", "bundle", "deleted")
    assert (again.code, again.err) == (1, 'Error from server (NotFound): bundle "deleted": not found\n')


def test_cordon_and_uncordon_speak_of_core_nodes_and_drain_is_refused_with_a_sentence(kubectl):
    assert kubectl.ok("cordon", "node-k") == "node/node-k cordoned\n"
    try:
        assert kubectl.ok("get", "node", "node-k", "--no-headers").split()[1] == "Ready,SchedulingDisabled"
        assert kubectl.ok("get", "nodes.rmctl", "node-k", "-o", "jsonpath={.spec.cordoned}") == "true"
        refused = kubectl("drain", "node-k")
        assert (refused.code, "use rmctl " in refused.err, "drained" in refused.out) == (1, True, False)
    finally:
        assert kubectl.ok("uncordon", "node-k") == "node/node-k uncordoned\n"
    assert kubectl.ok("get", "node", "node-k", "--no-headers").split()[1] == "Ready"


def test_the_audit_names_kubectls_token(kubectl):
    kubectl.apply(a_bundle("signed"))
    found = kubectl.ok("get", "--raw", "/apis/rmctl/v1/events?for=bundle/signed")
    assert "kubectl created generation 1" in [one["message"] for one in json.loads(found)["items"]]


def test_the_kubeconfig_is_private_to_its_server(kubectl, tmp_path):
    """Another token, or none, opens nothing; over plain HTTP the address carries the token."""
    text = Path(kubectl.environment["KUBECONFIG"]).read_text()
    token = next(line.split('"')[1] for line in text.splitlines() if "token:" in line)
    (tmp_path / "kubeconfig").write_text(text.replace(token, "x" * len(token)))
    ran = kubectl("--kubeconfig", str(tmp_path / "kubeconfig"), "get", "bundles")
    assert (ran.code, "provide credentials" in ran.err or "logged in" in ran.err) == (1, True)
