"""Selectors of devices: operators, limits, and the shorthand that reads back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.selector_text import parse_devices
from resources.selectors import (
    OPERATORS,
    Expression,
    Selector,
    SelectorError,
    checked,
    formatted,
    from_document,
    number,
    spelling,
)

EXAMPLE = "gpuProduct in (H100-SXM5-80GB), vramGiB >= 80, mig.capable = true, fabric.domain"


def one(key: str, op: str, *values: object) -> Expression:
    """The single expression of a manifest."""
    document = {"matchExpressions": [{"key": key, "op": op, "values": list(values)}]}
    (expression,) = from_document(document).expressions
    return expression


@pytest.mark.req("P83")
def test_the_documented_example_reads_as_its_document():
    read = parse_devices(EXAMPLE).to_document()["matchExpressions"]
    assert [read[0], read[1], read[3]] == [
        {"key": "gpuProduct", "op": "In", "values": ["H100-SXM5-80GB"]},
        {"key": "vramGiB", "op": "Gte", "values": [80]},
        {"key": "fabric.domain", "op": "Exists"},
    ]


@pytest.mark.req("P68")
def test_there_are_eight_operators_and_no_others():
    assert OPERATORS == ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Gte", "Lt", "Lte")
    with pytest.raises(ValueError, match=r'matchExpressions\[0\].op: "Equals" is not one of In, NotIn, Exists'):
        one("a", "Equals", "b")


@pytest.mark.req("P69", "PA7", "PD3")
@pytest.mark.parametrize(
    ("value", "asked", "holds"),
    [
        (80, "80", True),
        ("80", 80, True),
        (80.0, 80, True),
        (80.5, "80.5", True),
        (True, "true", True),
        ("true", True, True),
        (True, "True", False),
        (True, 1, False),
        ("a", "A", False),
    ],
)
def test_sets_compare_as_text(value, asked, holds):
    assert one("k", "In", "other", asked).holds(value) is holds
    assert one("k", "NotIn", "other", asked).holds(value) is not holds


@pytest.mark.req("P70")
@pytest.mark.parametrize(
    ("op", "below", "equal", "above"),
    [("Gt", False, False, True), ("Gte", False, True, True), ("Lt", True, False, False), ("Lte", True, True, False)],
)
def test_comparisons_are_numeric(op, below, equal, above):
    expression = one("k", op, 9)
    assert (expression.holds("8.75"), expression.holds("9.0"), expression.holds(10)) == (below, equal, above)


@pytest.mark.req("P71", "PA9")
@pytest.mark.parametrize("values", [(), (1, 2), ("many",), (True,), ("",), ("1_000",)])
@pytest.mark.parametrize("op", ["Gt", "Gte", "Lt", "Lte"])
def test_a_comparison_takes_exactly_one_number(op, values):
    with pytest.raises(ValueError, match=f"{op} takes exactly one number"):
        one("k", op, *values)


@pytest.mark.req("P72", "PA6", "PD4")
@pytest.mark.parametrize("value", [True, False, "", "many", "nan", "inf", "0x10", "1_000", " 5", None, "1e", "."])
def test_what_is_no_number_matches_no_comparison(value):
    assert not any(one("k", op, 1).holds(value) for op in ("Gt", "Gte", "Lt", "Lte"))


@pytest.mark.req("PD4")
@pytest.mark.parametrize("text", ["5", "+5", "-5", "5.25", "5e3", "5.5E-2"])
def test_numbers_are_decimal_texts(text):
    found = number(text)
    assert found is not None
    assert float(found) == float(text)


@pytest.mark.req("PA5", "PD2", "PA8")
def test_a_missing_key_satisfies_the_negations_alone():
    expressions = [one("k", "In", "a"), one("k", "NotIn", "a"), one("k", "Exists"), one("k", "DoesNotExist")]
    expressions += [one("k", op, 1) for op in ("Gt", "Gte", "Lt", "Lte")]
    assert [expression.operator for expression in expressions if expression.holds(None)] == ["NotIn", "DoesNotExist"]


@pytest.mark.req("PD5")
def test_an_empty_selector_matches_everything():
    assert parse_devices(" ") == from_document({"matchExpressions": []}) == Selector()
    assert Selector().matches({})


@pytest.mark.req("P73")
def test_thirty_two_expressions_pass_and_one_more_fails():
    most = ",".join(f"k{n}" for n in range(32))
    assert len(parse_devices(most).expressions) == 32
    assert len(from_document(parse_devices(most).to_document()).expressions) == 32
    with pytest.raises(SelectorError, match="at most 32 expressions"):
        parse_devices(f"{most},k32")
    with pytest.raises(ValueError, match="at most 32 expressions"):
        from_document({"matchExpressions": [{"key": f"k{n}", "op": "Exists"} for n in range(33)]})


@pytest.mark.req("P74")
def test_sixty_four_values_pass_and_one_more_fails():
    values = [f"v{n}" for n in range(64)]
    assert parse_devices(f"k in ({', '.join(values)})").expressions[0] == one("k", "In", *values)
    with pytest.raises(SelectorError, match="at most 64 values"):
        parse_devices(f"k in ({', '.join([*values, 'more'])})")
    with pytest.raises(ValueError, match="at most 64 values"):
        one("k", "In", *values, "more")


@pytest.mark.req("P75")
def test_a_key_starts_with_a_letter():
    for key in ("a", "A9", "gpu.product", "rack_1/row-2"):
        assert parse_devices(key).expressions[0].key == key
    for key in ("9a", ".a", "_a", "a$", "ä", "a" * 318):
        with pytest.raises(SelectorError, match="is no key: a letter, then letters, digits"):
            parse_devices(key)
        with pytest.raises(ValueError, match="is no key"):
            one(key, "Exists")


@pytest.mark.req("PA10")
@pytest.mark.parametrize(("op", "values"), [("In", ()), ("NotIn", ()), ("Exists", ("a",)), ("DoesNotExist", (1,))])
def test_sets_need_values_and_existence_takes_none(op, values):
    with pytest.raises(ValueError, match="at least one value" if not values else "takes no values"):
        one("k", op, *values)


@pytest.mark.parametrize(
    ("text", "op", "values"),
    [
        pytest.param("k in (a, b)", "In", ("a", "b"), marks=pytest.mark.req("P76")),
        pytest.param("k notin (a,b)", "NotIn", ("a", "b"), marks=pytest.mark.req("P76")),
        pytest.param("k = a", "In", ("a",), marks=pytest.mark.req("P77")),
        pytest.param("k != a", "NotIn", ("a",), marks=pytest.mark.req("P77")),
        pytest.param("k", "Exists", (), marks=pytest.mark.req("P78")),
        pytest.param("!k", "DoesNotExist", (), marks=pytest.mark.req("P79")),
        pytest.param("k >= 80", "Gte", (80,), marks=pytest.mark.req("P80")),
        pytest.param("k > 80", "Gt", (80,), marks=pytest.mark.req("P80")),
        pytest.param("k <= 8.5", "Lte", (8.5,), marks=pytest.mark.req("P80")),
        pytest.param("k<80", "Lt", (80,), marks=pytest.mark.req("P80")),
        pytest.param('k in ("a, b", "(c)")', "In", ("a, b", "(c)"), marks=pytest.mark.req("PA12")),
    ],
)
def test_the_shorthand(text, op, values):
    assert parse_devices(text) == Selector((one("k", op, *values),))


@pytest.mark.req("P78")
def test_a_bare_key_matches_whatever_the_value_is():
    assert parse_devices("mig.capable").matches({"mig.capable": "false"})
    assert not parse_devices("mig.capable = true").matches({"mig.capable": "false"})


@pytest.mark.req("P81")
def test_commas_inside_parentheses_join_values_and_no_expressions():
    assert [e.key for e in parse_devices("a in (x, y), b, c notin (z, w), d").expressions] == ["a", "b", "c", "d"]


@pytest.mark.req("P66")
def test_every_expression_must_hold():
    selector = parse_devices("a = 1, b > 1, !c")
    assert selector.matches({"a": "1", "b": "2"})
    for labels in ({"a": "2", "b": "2"}, {"a": "1", "b": "1"}, {"a": "1", "b": "2", "c": ""}):
        assert not selector.matches(labels)


@pytest.mark.req("PD7")
@pytest.mark.parametrize(
    ("text", "column"),
    [("a in (", 7), ("a,,b", 3), ("a b", 3), ("= x", 1), ('a = "x', 5), ("a >= many", 5), ("a >= 1, 2", 6), ("9", 1)],
)
def test_a_shorthand_that_cannot_be_read_names_its_column(text, column):
    with pytest.raises(SelectorError) as refused:
        parse_devices(text)
    assert refused.value.column == column


@pytest.mark.req("PA11", "PD6")
def test_the_canonical_print():
    told = [one("k", "In", "a"), one("k", "NotIn", "a"), one("k", "In", "b", "a"), one("k", "NotIn", "c", "b")]
    told += [one("k", "Exists"), one("k", "DoesNotExist"), one("k", "Gte", "80.0"), one("k", "In", 'a "b"', "")]
    assert [formatted(Selector((expression,))) for expression in told] == [
        "k = a",
        "k != a",
        "k in (b, a)",
        "k notin (c, b)",
        "k",
        "!k",
        "k >= 80",
        r'k in ("a \"b\"", "")',
    ]


scalars = st.one_of(st.text(max_size=6), st.integers(-(10**17), 10**17), st.booleans(), st.floats(-1e9, 1e9))
keys = st.from_regex(r"[A-Za-z][A-Za-z0-9._/-]{0,8}", fullmatch=True).filter(lambda key: key not in ("in", "notin"))
sets = st.builds(checked, keys, st.sampled_from(["In", "NotIn"]), st.lists(scalars, min_size=1, max_size=4))
there = st.builds(checked, keys, st.sampled_from(["Exists", "DoesNotExist"]), st.just(()))
bounds = st.builds(
    checked,
    keys,
    st.sampled_from(["Gt", "Gte", "Lt", "Lte"]),
    st.tuples(st.integers(-(10**17), 10**17) | st.decimals(-1000, 1000, places=3).map(float)),
)
selectors = st.lists(sets | there | bounds, max_size=5).map(lambda made: Selector(tuple(made)))


@pytest.mark.req("P82", "PA12")
@given(selectors)
def test_what_is_printed_reads_back_as_the_same_selector(selector):
    assert parse_devices(formatted(selector)) == selector


@given(selectors)
def test_a_document_reads_back_as_the_same_selector(selector):
    assert from_document(json.loads(json.dumps(selector.to_document()))) == selector


@given(scalars)
def test_a_value_is_in_the_set_of_itself(value):
    assert Expression("k", "In", (spelling(value),)).holds(value)
