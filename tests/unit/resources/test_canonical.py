"""Canonical JSON: one text for one value, and nothing that JSON cannot say."""

from __future__ import annotations

import math

import pytest

from resources.canonical import canonical, fingerprint, size


@pytest.mark.req("CC4")
def test_keys_are_sorted_by_code_point_and_nothing_is_blank() -> None:
    assert canonical({"é": 1, "Z": [1, {"b": None, "a": True}], "a": "x\n", "𝄞": 0.5, "\uffff": 2}) == (
        '{"Z":[1,{"a":true,"b":null}],"a":"x\\n","é":1,"\uffff":2,"𝄞":0.5}'
    )


@pytest.mark.req("CC4")
def test_a_fingerprint_is_the_digest_of_the_canonical_text() -> None:
    empty = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert (fingerprint({}), size({"ü": "€"})) == (empty, len('{"ü":"€"}'.encode()))
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1}) != fingerprint({"a": 1, "b": 3})


@pytest.mark.req("CC4")
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, {1, 2}, b"x", object(), {("a",): 1}])
def test_what_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        canonical({"value": value})
