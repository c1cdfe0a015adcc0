"""What an event may hold."""

import pytest

from resources.event import Event
from resources.reference import Ref
from store import events
from store.errors import TooLarge


@pytest.mark.req("B108")
def test_a_payload_is_bounded_and_its_limit_is_named(store):
    def add(letters: int) -> None:
        payload = {"x": "y" * (letters - len('{"x":""}'))}
        store.write(lambda tx: events.add(tx, Ref("pool", "p"), "u", Event("Told", "message", payload=payload)))

    add(65536)
    with pytest.raises(TooLarge, match=r"^event payload limit is 65536 bytes, this one has 65537$"):
        add(65537)
    with store.read() as tx:
        assert [one.count for one in events.list_for(tx)] == [1]
