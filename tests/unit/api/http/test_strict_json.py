"""JSON read strictly."""

import pytest

from api.http import yaml_text
from api.http.problems import Problem
from api.http.strict_json import loads


def refusal(body, reader=loads):
    """The message of the refusal."""
    with pytest.raises(Problem) as refused:
        reader(body)
    return refused.value.message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "empty body"),
        (b"  \n", "empty body"),
        (b'{"kind":"Job"', "1:14: unexpected end of JSON"),
        (b"{} {}", "1:4: data after the end of the document"),
        (b'{"spec":{"replicas":NaN}}', "spec.replicas: NaN is not JSON"),
        (b'{"spec":[-Infinity]}', "spec[0]: -Infinity is not JSON"),
        (b'{"a":1e400}', "a: number out of range"),
        (b'{"a":' + b"9" * 4301 + b"}", "a: integer outside the 64-bit range"),
        (b'{"a":9223372036854775808}', "a: integer outside the 64-bit range"),
        (b'{"x":{"a":1,"a":2}}', 'x: duplicate key "a"'),
        (b"[" * 1_000_000, "nesting deeper than 64"),
        (b"[" * 990 + b"]" * 990, "nesting deeper than 64"),
        (b'{"metadata":{"labels":{"x":"\\ud800"}}}', "metadata.labels.x: not valid Unicode text"),
        (b'{"\xff\xfe":1}', "not UTF-8 at byte 2"),
        ('{"a":1}'.encode("utf-16"), "not UTF-8 at byte 0"),
    ],
)
@pytest.mark.req("B1", "B2", "B3", "B5", "B6", "B7", "B8", "B9", "B10", "B14", "B15", "B22", "B23", "B24")
def test_what_is_not_json_is_refused_with_its_place(body, message):
    assert refusal(body) == message


@pytest.mark.req("B21")
def test_what_is_json_is_taken():
    assert loads(b'\xef\xbb\xbf{"a":[1,-0,9223372036854775807,1.5,null,true,"[[[\\"{"]}') == {
        "a": [1, 0, 9223372036854775807, 1.5, None, True, '[[["{']
    }
    assert loads(b"[" * 64 + b"]" * 64)


def test_yaml_is_read_as_1_2_core():
    assert yaml_text.loads(b"a: no\nb: 2026-01-31\nc: 010\nd: [1, x]\n") == {
        "a": "no",
        "b": "2026-01-31",
        "c": 10,
        "d": [1, "x"],
    }


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"a: &a [x]\nb: *a\n", "aliases are not allowed"),
        (b"[" * 3000, "nesting deeper than 64"),
        (b"a: [" * 70, "nesting deeper than 64"),
    ],
)
@pytest.mark.req("B25", "B27")
def test_yaml_that_would_grow_is_refused(body, message):
    assert refusal(body, yaml_text.loads) == message


def test_yaml_names_a_key_once():
    assert refusal(b"a: 1\na: 2\n", yaml_text.loads).startswith('not YAML: 2:1: found duplicate key "a"')
