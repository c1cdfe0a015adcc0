"""Envelopes of submitted documents."""

from pathlib import Path

import pytest

from api.http.envelope import read
from api.http.problems import cause_of
from resources import registry
from resources.bundle import BundleSpec
from resources.reference import Ref
from resources.validation import Invalid, parse
from tests.builders import a_job_entry


def a_document(metadata=None, **fields):
    """A bundle's document; its spec is not looked at here."""
    return {
        "apiVersion": "rmctl/v1",
        "kind": "bundle",
        "metadata": {"name": "ch-1", **(metadata or {})},
        "spec": {"pool": "p"},
        **fields,
    }


def refusals(document, **expected):
    """What is wrong, as people read it."""
    with pytest.raises(Invalid) as refused:
        read(document, **expected)
    return [str(error) for error in refused.value.errors]


def test_a_submission_knows_what_it_is():
    taken = read(
        a_document({"labels": {"a": "b"}, "resourceVersion": "7", "uid": "u", "generation": 3}, status={"x": 1})
    )
    assert (taken.ref, taken.spec, taken.labels) == (Ref("bundle", "ch-1", "default"), {"pool": "p"}, {"a": "b"})
    assert (taken.resource_version, taken.uid, taken.sent) == (7, "u", {"generation": 3, "status": {"x": 1}})


def test_project_and_namespace_are_the_same():
    assert read(a_document({"project": "films"})).ref.project == "films"
    assert read(a_document({"namespace": "films"}), project="films").ref.project == "films"
    assert refusals(a_document({"namespace": "a", "project": "b"})) == ['metadata.namespace: expected "b", got "a"']
    assert refusals(a_document({"namespace": "a"}), project="b") == ['metadata.namespace: expected "b", got "a"']


def test_what_every_client_sends_empty_is_not_held_against_it():
    assert read(a_document({"creationTimestamp": None}, status={})).sent == {}


@pytest.mark.parametrize("name", ["", None])
@pytest.mark.req("B28")
def test_a_name_is_required(name):
    assert refusals(a_document({"name": name})) == ["metadata.name: required"]


@pytest.mark.req("F35", "F425")
def test_an_empty_name_of_a_pool_has_its_code():
    with pytest.raises(Invalid) as refused:
        read(a_document({"name": ""}, kind="pool"))
    assert [error.code for error in refused.value.errors] == ["emptyPoolName"]
    assert cause_of(refused.value.errors[0]).as_document()["code"] == "emptyPoolName"
    with pytest.raises(Invalid) as refused:
        parse(BundleSpec, {"pool": "", "jobs": [a_job_entry()]})
    assert [(error.path, error.code) for error in refused.value.errors] == [("spec.pool", "emptyPoolName")]


@pytest.mark.req("B28")
def test_a_name_is_text():
    assert refusals(a_document({"name": 5})) == ["metadata.name: expected text, got 5"]


@pytest.mark.req("B29")
def test_a_name_is_at_most_63_characters():
    assert refusals(a_document({"name": "a" * 64})) == ["metadata.name: at most 63 characters"]
    assert read(a_document({"name": "a" * 63})).ref.name == "a" * 63


@pytest.mark.parametrize(
    "name",
    [
        "Job_A",
        "-a",
        "a-",
        "a..b",
        "a b",
        "a\0b",
        "ａｂｃ",
        "jоb",
        "a²",
        "٣",
        "../../etc/passwd",
        "a/b",
        "a%2fb",
        ".",
        "..",
        "x' OR 1=1 --",
    ],
)
@pytest.mark.req("B30", "B32", "B33", "B34", "B35")
def test_a_name_is_a_dns_label(name):
    assert refusals(a_document({"name": name})) == ["metadata.name: must match [a-z0-9]([-a-z0-9]*[a-z0-9])?"]


@pytest.mark.req("B41")
def test_labels_have_limits():
    assert refusals(a_document({"labels": {f"k{n}": "" for n in range(65)}})) == [
        "metadata.labels: at most 64 labels, got 65"
    ]
    assert refusals(a_document({"labels": {"x": "v" * 64}})) == ["metadata.labels.x: at most 63 characters"]
    assert refusals(a_document({"labels": {"x/": "v"}})) == [
        "metadata.labels.x/: expected PREFIX/NAME, the name is missing"
    ]
    assert refusals(a_document({"labels": {"x": 1}})) == ["metadata.labels.x: expected text, got 1"]
    assert refusals(a_document({"labels": {"x": "\x1b[2J"}}))[0].startswith("metadata.labels.x: must match ")


@pytest.mark.req("B37")
def test_control_characters_do_not_reach_the_message():
    assert refusals(a_document({"labels": {"\x1b[2J": "v"}})) == [
        "metadata.labels.\\x1b[2J: expected [PREFIX/]NAME of letters, digits, - _ and ."
    ]


def test_annotations_may_hold_256_kib():
    assert refusals(a_document({"annotations": {"a": "x" * 262144}})) == [
        "metadata.annotations: at most 262144 bytes in all (256 KiB)"
    ]


@pytest.mark.req("B49")
def test_unknown_fields_kinds_and_versions_are_told_together():
    document = a_document({"nmae": "x"}, stauts={}) | {"kind": "bundel", "apiVersion": "v1"}
    assert refusals(document) == [
        "unknown field stauts (did you mean status?)",
        'apiVersion: expected rmctl/v1, got "v1"',
        'kind: unknown kind "bundel" (did you mean bundle?)',
        "unknown field metadata.nmae (did you mean name?)",
    ]


@pytest.mark.parametrize(
    ("kind", "places", "hint"),
    [
        ("note", [], "kinds of your own are known to a server only"),
        ("note", ["/a", "/b"], "a kind of your own is note.resource_manager.py in /a, /b"),
        ("note", list("abcde"), "a kind of your own is note.resource_manager.py in a, b, c or 2 more"),
        ("No/te", ["/a"], ""),
        (7, ["/a"], ""),
    ],
)
def test_an_unknown_kind_may_be_ones_own_and_where_it_would_be_is_said(kind, places, hint):
    registry.PLACES.append(lambda: map(Path, places))
    try:
        with pytest.raises(Invalid) as refused:
            read(a_document() | {"kind": kind})
    finally:
        registry.PLACES.pop()
    assert [error.hint for error in refused.value.errors] == [hint]


@pytest.mark.parametrize("version", ["abc", "-1", "0x10", "1e3", 7])
@pytest.mark.req("B48")
def test_a_resource_version_is_digits_in_a_text(version):
    assert refusals(a_document({"resourceVersion": version})) == [
        "metadata.resourceVersion: expected a whole number in a text"
    ]


def test_the_name_must_be_the_one_of_the_path():
    assert refusals(a_document(), name="ch-2") == ['metadata.name: expected "ch-2" as in the path, got "ch-1"']
