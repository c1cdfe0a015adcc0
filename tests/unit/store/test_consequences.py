"""What a write brings with it in its own transaction."""

from __future__ import annotations

from resources.reference import Ref
from store import queue, resources
from tests.builders import a_bundle, a_job_entry

TEMPLATE = Ref("template", "encode", "default")


def woken(tx):
    return {row.name for row in queue.list_all(tx) if row.kind == "bundle"}


def test_a_template_wakes_the_bundles_that_read_it_when_it_comes_changes_and_goes(store):
    with store.transaction() as tx:
        entries = {"by-name": a_job_entry("encode"), "named": a_job_entry(template="encode"), "other": a_job_entry()}
        for name, entry in entries.items():
            resources.create(tx, Ref("bundle", name, "default"), a_bundle(entry))
        resources.create(tx, Ref("bundle", "by-name", "elsewhere"), a_bundle(a_job_entry("encode")))
        for write in (
            lambda: resources.create(tx, TEMPLATE, {"env": {"A": "1"}}),
            lambda: resources.replace(tx, resources.get(tx, TEMPLATE), document={"env": {"A": "2"}}),
            lambda: resources.request_deletion(tx, resources.get(tx, TEMPLATE)),
        ):
            for row in queue.list_all(tx):
                queue.remove(tx, Ref(row.kind, row.name, row.project))
            write()
            assert woken(tx) == {"by-name", "named"}
