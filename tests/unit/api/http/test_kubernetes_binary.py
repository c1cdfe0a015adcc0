"""Reviews of access as kubectl sends them."""

from __future__ import annotations

import pytest

from api.http.kubernetes_binary import MAGIC, review
from api.http.problems import Problem


def part(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


def test_the_question_is_read():
    asked = part(1, b"default") + part(2, b"get") + part(3, b"rmctl") + part(5, b"bundles")
    data = MAGIC + part(1, part(1, b"v1")) + part(2, part(1, b"") + part(2, part(1, asked))) + part(3, b"")
    assert review(data) == {
        "spec": {"resourceAttributes": {"namespace": "default", "verb": "get", "group": "rmctl", "resource": "bundles"}}
    }


@pytest.mark.parametrize("data", [b"", b"{}", MAGIC + b"\x12\x7f", MAGIC + b"\xff" * 12, MAGIC + b"\x12\x02\x12\xff"])
def test_what_is_none_is_a_bad_request(data):
    with pytest.raises(Problem) as refused:
        review(data)
    assert refused.value.code == 400
