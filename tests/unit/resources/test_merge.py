"""Merging documents."""

from hypothesis import given
from hypothesis import strategies as st

from resources.merge import FieldConflict, changed, conflicts, leaves, less, only, patched, three_way, without_nulls

KEYS = st.sampled_from(["a", "b", "c"])
DOCUMENTS = st.dictionaries(
    KEYS,
    st.recursive(
        st.integers(0, 2) | st.lists(st.integers(0, 1), max_size=2), lambda x: st.dictionaries(KEYS, x), max_leaves=6
    ),
)


def test_a_merge_patch_merges_objects_replaces_lists_and_removes_by_null():
    """The example of RFC 7386, in our words."""
    target = {"jobs": [1, 2], "env": {"A": "1", "B": "2"}, "pool": "p"}
    assert patched(target, {"jobs": [3], "env": {"A": None, "C": {"D": None}}, "pool": None}) == {
        "jobs": [3],
        "env": {"B": "2", "C": {}},
    }


def test_an_apply_removes_what_it_no_longer_names_and_leaves_the_rest():
    live = {"pool": "p", "priority": 5, "update": {"strategy": "allAtOnce", "readyTimeoutSeconds": 9}}
    last = {"pool": "p", "update": {"strategy": "allAtOnce"}}
    assert three_way(live, last, {"pool": "q"}) == {"pool": "q", "priority": 5, "update": {"readyTimeoutSeconds": 9}}


def test_a_field_that_two_own_stays_when_one_lets_go():
    assert three_way({"a": 1}, {"a": 1}, {}, {"other": {"a": 1}}) == {"a": 1}


def test_an_empty_object_is_kept_as_a_statement():
    """`resiliencePolicy: {}` asks for a backup copy; taking its last flag away must not take the policy away."""
    assert three_way({"r": {"sameNode": "forbid"}}, {"r": {"sameNode": "forbid"}}, {"r": {}}) == {"r": {}}
    assert three_way({"r": {"sameNode": "forbid"}}, {"r": {"sameNode": "forbid"}}, {}) == {}
    assert three_way({"r": {"x": 1}}, {}, {"r": {}}) == {"r": {"x": 1}}


def test_a_conflict_names_the_field_and_its_owner():
    live = {"cordoned": True, "pool": "p"}
    others = {"rmctl-verbs": {"cordoned": True}, "agent": {"pool": "p"}}
    assert conflicts(live, {"cordoned": False, "pool": "p"}, others) == (FieldConflict(("cordoned",), "rmctl-verbs"),)


def test_equal_values_and_unowned_fields_are_no_conflict():
    assert conflicts({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"other": {"a": 1}}) == ()


def test_parts_of_a_document():
    document = {"a": {"b": 1, "c": 2}, "d": []}
    assert only(document, [("a", "b"), ("z",)]) == {"a": {"b": 1}}
    assert less(document, [("a",)]) == {"d": []}
    assert changed(document, {"a": {"b": 1}, "d": [1]}) == {("a", "c"), ("d",)}


def test_nulls_say_nothing():
    assert without_nulls({"a": None, "b": [{"c": None}], "d": {"e": None}}) == {"b": [{}], "d": {}}


@given(DOCUMENTS, DOCUMENTS)
def test_applying_the_same_again_changes_nothing(live, desired):
    once = three_way(live, {}, desired)
    assert three_way(once, desired, desired) == once


@given(DOCUMENTS, DOCUMENTS, DOCUMENTS)
def test_whatever_was_applied_last_stands_in_the_result(live, last, desired):
    standing = leaves(three_way(live, last, desired))
    missing = {p: v for p, v in leaves(desired).items() if v != {} and standing.get(p) != v}
    assert missing == {}


@given(DOCUMENTS)
def test_the_only_owner_takes_everything_away(desired):
    assert three_way(three_way({}, {}, desired), desired, {}) == {}
