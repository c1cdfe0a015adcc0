"""Resources over HTTP on a unix socket: get, list, create, update, patch, apply, delete."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from resources.reference import Ref
from store import resources
from tests.builders import a_bundle, a_job_entry
from tests.http_serving import API, Served, a_document, serving


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as found:
        found.put_pool()
        yield found


def outcomes(answer):
    """(kind, name, outcome) of a batch's answer."""
    assert answer.status_code == 200, answer.text
    return [(item["kind"], item["name"], item["outcome"]) for item in answer.json()["items"]]


def refusal(answer, code):
    """The Status of a refused request."""
    assert answer.status_code == code, answer.text
    status = answer.json()
    assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", code)
    return status


def causes(answer, code=422):
    return [(c.get("document"), c["field"], c["message"]) for c in refusal(answer, code)["details"]["causes"]]


def snapshot(served):
    """The newest revision: nothing stored means it has not moved."""
    return served.get("server")["revision"]


@pytest.mark.req("T4")
def test_a_bundle_is_created_configured_and_unchanged(served):
    assert outcomes(served.apply(a_document())) == [("bundle", "ch-1", "created")]
    assert outcomes(served.apply(a_document())) == [("bundle", "ch-1", "unchanged")]
    before = snapshot(served)
    assert outcomes(served.apply(a_document(spec=a_bundle(priority=5)))) == [("bundle", "ch-1", "configured")]
    assert snapshot(served) == before + 3  # the write, its event, and its row in the audit
    found = served.get("namespaces/default/bundles/ch-1")
    assert (found["metadata"]["generation"], found["spec"]["priority"]) == (2, 5)


@pytest.mark.req("T3")
def test_an_equal_apply_writes_nothing(served):
    served.apply(a_document(labels={"a": "b"}))
    before = snapshot(served)
    served.apply(a_document(labels={"a": "b"}))
    assert snapshot(served) == before


def test_a_field_that_is_no_longer_applied_goes(served):
    served.apply(a_document(spec=a_bundle(priority=5), labels={"a": "b"}))
    served.patch("namespaces/default/bundles/ch-1", {"metadata": {"labels": {"mine": "yes"}}}, fieldManager="me")
    served.apply(a_document())
    found = served.get("namespaces/default/bundles/ch-1")
    assert ("priority" in found["spec"], found["metadata"]["labels"]) == (False, {"mine": "yes"})


@pytest.mark.req("S6")
def test_an_apply_leaves_alone_what_another_manager_changed_until_it_says_something_new(served):
    served.apply(a_document(spec=a_bundle(priority=5)))
    served.patch("namespaces/default/bundles/ch-1", {"spec": {"priority": 7}}, fieldManager="ana")
    before = snapshot(served)
    (same,) = served.apply(a_document(spec=a_bundle(priority=5))).json()["items"]
    assert (same["outcome"], snapshot(served)) == ("unchanged", before)
    assert same["kept"] == [{"field": "spec.priority", "asked": 5, "standing": 7, "manager": "ana"}]
    (other,) = served.apply(a_document(spec=a_bundle(priority=5, onLaunch="allowSpare"))).json()["items"]
    assert (other["outcome"], other["object"]["spec"]["priority"]) == ("configured", 7)
    (tried,) = served.apply(a_document(spec=a_bundle(priority=6)), dryRun=True).json()["items"]
    assert tried["object"]["spec"]["priority"] == 6
    (new,) = served.apply(a_document(spec=a_bundle(priority=6))).json()["items"]
    assert (new["outcome"], new["object"]["spec"]["priority"], "kept" in new) == ("configured", 6, False)
    assert outcomes(served.apply(a_document(spec=a_bundle(priority=6)))) == [("bundle", "ch-1", "unchanged")]


@pytest.mark.req("S6")
def test_a_pool_that_a_machine_scales_stays_scaled(served):
    """A list is one value: who changed an item of it holds the whole list."""
    tier = {"name": "t", "kind": "aws", "scaleOut": "elastic", "candidateInstanceTypes": []}
    shape = {"instanceType": "m5", "totalCapacity": 2, "totalCores": 2}

    def pool(most: int, **more):
        tiers = [{**tier, "candidateInstanceTypes": [shape], "maxNodes": most}]
        return a_document("pool", "scaled", {"tiers": tiers, **more})

    assert served.apply(pool(2)).status_code == 200
    operations = [{"op": "replace", "path": "/spec/tiers/0/maxNodes", "value": 5}]
    served.patch("pools/scaled", operations, media="json-patch+json", fieldManager="autoscaler")
    for document in (pool(2), pool(2, maxRestartsPerHour=9)):
        (item,) = served.apply(document).json()["items"]
        assert (item["object"]["spec"]["tiers"][0]["maxNodes"], item["kept"][0]["manager"]) == (5, "autoscaler")
    (item,) = served.apply(pool(3)).json()["items"]
    assert item["object"]["spec"]["tiers"][0]["maxNodes"] == 3


def test_what_another_manager_set_first_is_a_conflict_unless_forced(served):
    served.apply(a_document(), fieldManager="first")
    served.patch("namespaces/default/bundles/ch-1", {"spec": {"priority": 7}}, fieldManager="ana")
    answer = served.apply(a_document(spec=a_bundle(priority=5)))
    status = refusal(answer, 409)
    assert status["reason"] == "Conflict"
    assert status["message"] == 'bundle "ch-1": spec.priority was set by ana'
    assert outcomes(served.apply(a_document(spec=a_bundle(priority=5)), force=True)) == [
        ("bundle", "ch-1", "configured")
    ]
    assert outcomes(served.apply(a_document(spec=a_bundle(priority=6)))) == [("bundle", "ch-1", "configured")]


@pytest.mark.req("B71")
def test_all_documents_are_checked_before_the_first_is_stored(served):
    broken = a_document(name="ch-2", spec=a_bundle(replica=3))
    lost = a_document(name="ch-3", spec=a_bundle(pool="nowhere"))
    before = snapshot(served)
    answer = served.apply(a_document(), broken, lost)
    assert causes(answer) == [
        (1, "spec.replica", "unknown field spec.replica"),
        (2, "spec.pool", 'no pool "nowhere"'),
    ]
    assert snapshot(served) == before


def test_references_are_resolved_in_the_same_set(served):
    bundle = a_document(spec={"pool": "fresh", "jobs": [{"jobName": "encode"}]})
    entry = a_job_entry()
    template = a_document("template", "encode", {"command": entry["command"], "requirements": entry["requirements"]})
    assert outcomes(served.apply(bundle, a_document("pool", "fresh"), template)) == [
        ("bundle", "ch-1", "created"),
        ("pool", "fresh", "created"),
        ("template", "encode", "created"),
    ]


@pytest.mark.req("B72")
def test_a_document_named_twice_is_refused(served):
    answer = served.apply(a_document(), a_document(name="ch-2"), a_document())
    assert causes(answer) == [(2, "", "bundle/ch-1: defined twice (documents 1 and 3)")]


def test_what_templates_do_not_complete_is_refused_with_the_cure(served):
    answer = served.apply(a_document(spec={"pool": "local", "jobs": [{"jobName": "encode", "requirements": {}}]}))
    assert set(causes(answer)) == {
        (0, "spec.jobs[0].command", 'required (no template "encode" gives one)'),
        (0, "spec.jobs[0].requirements.requiredCapacity", "required"),
        (0, "spec.jobs[0].requirements.onRuntimeFailure", "required"),
    }
    assert answer.json()["details"]["hint"] == "most jobs want avoidSpare (start again, leave warm spares alone)"


def test_a_dry_run_takes_the_same_way_and_stores_nothing(served):
    before = snapshot(served)
    assert outcomes(served.apply(a_document(), dryRun=True)) == [("bundle", "ch-1", "created")]
    created = served.client.post(f"{API}/namespaces/default/bundles", json=a_document(), params={"dryRun": "All"})
    assert (created.status_code, created.json()["metadata"]["generation"]) == (201, 1)
    assert snapshot(served) == before
    served.apply(a_document())
    before = snapshot(served)
    gone = served.client.delete(f"{API}/namespaces/default/bundles/ch-1", params={"dryRun": "All"})
    assert (gone.status_code, snapshot(served)) == (200, before)


@pytest.mark.req("B92")
def test_create_update_and_preconditions(served):
    path = f"{API}/namespaces/default/bundles"
    made = served.client.post(path, json=a_document()).json()
    assert refusal(served.client.post(path, json=a_document()), 409)["reason"] == "AlreadyExists"
    changed = {**made, "spec": a_bundle(priority=1)}
    now = served.client.put(f"{path}/ch-1", json=changed).json()
    assert now["metadata"]["generation"] == 2
    status = refusal(served.client.put(f"{path}/ch-1", json={**changed, "spec": a_bundle(priority=2)}), 409)
    have, found = made["metadata"]["resourceVersion"], now["metadata"]["resourceVersion"]
    assert status["message"] == f'bundle "ch-1": changed since you read it (have {have}, now {found})'
    other = {**now, "metadata": {**now["metadata"], "uid": "another"}}
    assert (
        "is another one now (have uid another" in refusal(served.client.put(f"{path}/ch-1", json=other), 409)["message"]
    )
    assert refusal(served.client.put(f"{path}/ch-2", json=a_document(name="ch-2")), 404)["message"] == (
        'bundle "ch-2": not found'
    )


@pytest.mark.req("B51")
def test_what_the_server_keeps_is_ignored_with_a_warning(served):
    document = a_document(uid="mine", generation=7, creationTimestamp=None)
    answer = served.client.post(f"{API}/namespaces/default/bundles", json={**document, "status": {"state": "broken"}})
    assert answer.status_code == 201
    assert answer.headers.get_list("warning") == [
        '299 - "metadata.generation is kept by the server; what was sent is ignored"',
        '299 - "status is kept by the server; what was sent is ignored"',
        '299 - "metadata.uid is ignored when a resource is created"',
    ]
    made = answer.json()
    assert (made["metadata"]["generation"], made["status"]["state"]) == (1, "live")
    again = served.client.put(f"{API}/namespaces/default/bundles/ch-1", json=made)
    assert (again.headers.get_list("warning"), again.headers["rmctl-outcome"]) == ([], "unchanged")


@pytest.mark.parametrize(
    ("media", "body"),
    [
        ("merge-patch+json", {"spec": {"priority": 9}}),
        ("strategic-merge-patch+json", {"spec": {"priority": 9, "$setElementOrder/jobs": []}}),
        ("json-patch+json", [{"op": "add", "path": "/spec/priority", "value": 9}]),
    ],
)
def test_patches(served, media, body):
    served.apply(a_document())
    answer = served.patch("namespaces/default/bundles/ch-1", body, media)
    assert (answer.status_code, answer.json()["spec"]["priority"]) == (200, 9)


def test_an_apply_patch_creates_and_needs_a_manager(served):
    path = f"{API}/namespaces/default/bundles/ch-1"
    text = (
        "apiVersion: rmctl/v1\nkind: bundle\nmetadata: {name: ch-1}\nspec:\n  pool: local\n  jobs:\n"
        "  - {jobName: web, command: [sleep, '9'], requirements: {requiredCapacity: 0.5, onRuntimeFailure: drop}}\n"
    )
    headers = {"Content-Type": "application/apply-patch+yaml"}
    assert refusal(served.client.patch(path, content=text, headers=headers), 400)["message"] == (
        "fieldManager: required to apply"
    )
    made = served.client.patch(path, content=text, headers=headers, params={"fieldManager": "flux"})
    assert (made.status_code, made.json()["spec"]["jobs"][0]["command"]) == (201, ["sleep", "9"])
    again = served.client.patch(path, content=text, headers=headers, params={"fieldManager": "flux"})
    assert (again.status_code, again.headers["rmctl-outcome"]) == (200, "unchanged")


def test_lenient_validation_leaves_unknown_fields_out(served):
    document = a_document(spec=a_bundle(a_job_entry(colour="red"), replica=3))
    path = f"{API}/namespaces/default/bundles"
    refusal(served.client.post(path, json=document), 422)
    made = served.client.post(path, json=document, params={"fieldValidation": "Warn"})
    assert (made.status_code, made.json()["spec"]) == (201, a_bundle())
    assert made.headers.get_list("warning") == [
        '299 - "unknown field spec.jobs[0].colour"',
        '299 - "unknown field spec.replica"',
    ]


@pytest.mark.req("B91")
def test_deleting(served):
    path = f"{API}/namespaces/default/bundles/ch-1"
    made = served.client.post(f"{API}/namespaces/default/bundles", json=a_document()).json()
    wrong = {"preconditions": {"uid": "another"}}
    status = refusal(served.client.request("DELETE", path, json=wrong), 409)
    assert status["message"] == f'bundle "ch-1": is another one now (have uid another, now {made["metadata"]["uid"]})'
    gone = served.client.request("DELETE", path, json={"kind": "DeleteOptions", "dryRun": ["All"]})
    assert gone.status_code == 200
    gone = served.client.delete(path).json()
    assert (gone["status"], gone["details"]["uid"]) == ("Success", made["metadata"]["uid"])
    assert refusal(served.client.delete(path), 404)["reason"] == "NotFound"


def test_a_pool_in_use_is_not_deleted(served):
    served.apply(a_document())
    status = refusal(served.client.delete(f"{API}/pools/local"), 409)
    assert status["message"] == 'pool "local": is in use by bundle/ch-1'


def test_labels_of_the_system_are_not_set_by_people(served):
    answer = served.apply(a_document(labels={"rmctl/bundle": "x"}))
    assert causes(answer) == [(0, "metadata.labels.rmctl/bundle", "labels that start with rmctl/ are the system's")]


def test_labels_of_the_system_are_not_taken_off_by_people(served):
    own, kept = {"rmctl/driver.process": "1"}, {"a": "b"}
    served.store.write(lambda tx: resources.create(tx, Ref("node", "n"), {"pool": "local"}, labels={**own, **kept}))
    for labels in ({"rmctl/driver.process": None}, None):
        status = refusal(served.patch("nodes/n", {"metadata": {"labels": labels}}), 422)
        assert (
            "metadata.labels.rmctl/driver.process: labels that start with rmctl/ are the system's" in status["message"]
        )
    assert served.patch("nodes/n", {"metadata": {"labels": {"a": None}}}).status_code == 200
    assert served.get("nodes/n")["metadata"]["labels"] == own


def test_a_job_is_made_by_its_bundle_only(served):
    document = a_document("job", "ch-1/primary/web", {})
    status = refusal(served.apply(document), 403)
    assert status["message"] == 'job "ch-1/primary/web": a job is made by bundle/ch-1 only'


@pytest.mark.req("B17")
def test_a_spec_has_a_limit_and_a_body_too(served):
    padding = "x" * (1024 * 1024)
    status = refusal(served.apply(a_document(spec=a_bundle(a_job_entry(parameters={"p": padding})))), 422)
    assert "bytes, limit is 1048576 (1 MiB)" in status["message"]
    huge = served.client.post(
        f"{API}/batch", content=b"[" + b" " * (5 * 1024 * 1024), headers={"Content-Type": "application/json"}
    )
    assert refusal(huge, 413)["reason"] == "RequestEntityTooLarge"


@pytest.mark.req("T14", "CX7")
def test_two_projects_that_use_one_name_do_not_see_each_other(served):
    """What one writes, selects, reads of its past and deletes is its own; a project that nobody uses has nothing."""
    served.apply(a_document(namespace="red"), a_document(namespace="blue", spec=a_bundle(priority=5)))
    red, blue = (served.get(f"namespaces/{project}/bundles/ch-1") for project in ("red", "blue"))
    assert red["metadata"]["uid"] != blue["metadata"]["uid"]
    assert outcomes(served.apply(a_document(namespace="red", spec=a_bundle(priority=7)))) == [
        ("bundle", "ch-1", "configured")
    ]
    assert served.get("namespaces/blue/bundles/ch-1") == blue
    assert served.client.delete(f"{API}/namespaces/red/bundles/ch-1").status_code == 200
    seen = {
        project: [
            (record["kind"], record["project"])
            for what in ("events", "queue")
            for record in served.get(what, project=project)["items"]
            if record["name"] == "ch-1"
        ]
        for project in ("red", "blue", "films")
    }
    assert {project: set(records) for project, records in seen.items()} == {
        "red": {("bundle", "red")},
        "blue": {("bundle", "blue")},
        "films": set(),
    }
    assert ("deletionTimestamp" in blue["metadata"], served.get("namespaces/blue/bundles/ch-1")) == (False, blue)
    assert served.client.get(f"{API}/namespaces/films/bundles/ch-1").status_code == 404
    for plural in ("bundles", "jobs", "templates"):
        assert served.get(f"namespaces/films/{plural}")["items"] == []


@pytest.mark.req("T14")
def test_lists_are_selected_and_paged(served):
    names = [f"ch-{number}" for number in range(5)]
    served.apply(*(a_document(name=name, labels={"parity": str(int(name[-1]) % 2)}) for name in names))
    page = served.get("bundles", limit=2)
    assert ([item["metadata"]["name"] for item in page["items"]], page["metadata"]["remainingItemCount"]) == (
        names[:2],
        3,
    )
    rest = served.get("bundles", limit=10, **{"continue": page["metadata"]["continue"]})
    assert [item["metadata"]["name"] for item in rest["items"]] == names[2:]
    assert rest["metadata"] == {"resourceVersion": page["metadata"]["resourceVersion"]}
    odd = served.get("namespaces/default/bundles", labelSelector="parity=1")
    assert [item["metadata"]["name"] for item in odd["items"]] == ["ch-1", "ch-3"]
    one = served.get("bundles", fieldSelector="metadata.name=ch-4")
    assert [item["metadata"]["name"] for item in one["items"]] == ["ch-4"]
    assert served.get("namespaces/films/bundles")["items"] == []


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"limit": "-1"}, 'limit: expected a whole number, got "-1"'),
        ({"limit": "1000000000"}, "limit: at most 10000"),
        ({"continue": "garbage"}, "continue token is not valid here"),
        ({"resourceVersion": "abc"}, 'resourceVersion: expected a whole number, got "abc"'),
        ({"resourceVersion": "0x10"}, 'resourceVersion: expected a whole number, got "0x10"'),
        ({"labelSelector": "env in ("}, "selector: column 9: expected ')'"),
        ({"fieldSelector": "spec.pool=x"}, None),
        ({"dryRun": "Some"}, None),
    ],
)
@pytest.mark.req("B42", "B47", "B48")
def test_bad_queries_are_refused(served, query, message):
    if "dryRun" in query:
        answer = served.client.post(f"{API}/bundles", json=a_document(), params=query)
    else:
        answer = served.client.get(f"{API}/bundles", params=query)
    found = refusal(answer, 400)["message"]
    assert message in (None, found)


@pytest.mark.req("B47")
def test_a_token_of_another_list_is_refused(served):
    served.apply(*(a_document(name=f"ch-{number}") for number in range(3)))
    token = served.get("bundles", limit=1)["metadata"]["continue"]
    answer = served.client.get(f"{API}/jobs", params={"continue": token})
    assert refusal(answer, 400)["message"] == "continue token is not valid here"


@pytest.mark.req("B34")
def test_paths_are_taken_as_they_are_sent(served):
    served.apply(a_document())
    for path in ("bundles/ch%2d1", "bundles/a%2fb", "bundles/..%2f..%2fetc", "nothing/x"):
        refusal(served.client.get(f"{API}/namespaces/default/{path}"), 404)
    assert refusal(served.client.put(f"{API}/bundles"), 405)["reason"] == "MethodNotAllowed"
    assert refusal(served.client.get("/nowhere"), 404)["message"] == "there is nothing at this path"
