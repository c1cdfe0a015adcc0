"""What lists leave out."""

from __future__ import annotations

import pytest

from resources.endings import ended


def a_document(kind: str, type_: str = "Ready", status: str = "True", reason: str = "Ready") -> dict[str, object]:
    return {"kind": kind, "status": {"conditions": [{"type": type_, "status": status, "reason": reason}]}}


@pytest.mark.parametrize(
    ("document", "over"),
    [
        (a_document("reservation", reason="Active"), False),
        (a_document("reservation", status="False", reason="NoFit"), False),
        (a_document("reservation", reason="Expired"), True),
        (a_document("drain"), True),
        (a_document("drain", "Stalled"), True),
        (a_document("drain", status="False"), False),
        (a_document("bundle"), False),
        ({"kind": "drain", "status": None}, False),
        ({"kind": "reservation"}, False),
    ],
)
def test_a_reservation_ends_with_its_time_and_the_others_when_they_are_done(document, over):
    assert ended(document) is over
