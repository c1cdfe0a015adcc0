"""The wire's text, put together from parts, is that of the whole object."""

from __future__ import annotations

from resources.canonical import canonical
from resources.conditions import condition
from resources.pool import Pool, PoolSpec, PoolStatus
from resources.reference import Ref
from resources.wire import status_document, to_wire, wire_text
from tests.builders import a_pool


def test_the_text_is_the_canonical_json_of_the_object() -> None:
    status = PoolStatus(node_count=2, conditions=(condition("Ready", True, "HasCapacity", 'sagt "ü"'),))
    pool = Pool(
        ref=Ref("pool", "local"),
        uid="u",
        generation=3,
        resource_version=7,
        spec=PoolSpec.model_validate(a_pool()),
        status=status,
        document=a_pool(),
        labels={"b": "2", "a": "1"},
        annotations={"note": "ö"},
        finalizers=("x",),
        owner="o",
        created_at=1000.5,
        deletion_timestamp=1001.0,
    )
    assert wire_text(pool, canonical(pool.document), canonical(status_document(status))) == canonical(to_wire(pool))
