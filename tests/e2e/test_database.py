"""The database as its page tells it: every table and column is there, and plain SQLite reads it beside the server."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from resources.reference import Ref
from store import ledger, resources
from store.node_tables import schema
from store.store import Store
from tests.architecture.tree import ROOT
from tests.builders import POOL, a_bundle, a_pool
from tests.clocked import Clocked

PAGE = (ROOT / "docs" / "database.md").read_text(encoding="utf-8")
QUERIES = [textwrap.dedent(block) for block in re.findall(r"(?:^    .*\n)+", PAGE, re.MULTILINE) if "SELECT" in block]
READ = """
import json, sqlite3, sys
file = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
print(json.dumps([file.execute(query).fetchall() for query in sys.argv[2:]]))
"""


def told() -> dict[str, list[str]]:
    """The columns of each table, in the order of the page."""
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", PAGE.partition("\n## What goes")[0], re.MULTILINE)
    return {table: re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", columns)) for table, columns in rows}


@pytest.mark.req("T58")
def test_the_page_tells_every_table_and_every_column() -> None:
    made = {table.name: [column.name for column in table.columns] for table in schema.tables.values()}
    assert told() == {**made, "alembic_version": ["version_num"]}


@pytest.mark.req("T58")
def test_another_process_reads_what_was_just_committed_while_the_server_has_the_file_open(tmp_path: Path) -> None:
    store = Store.open(tmp_path, Clocked())
    store.write(lambda tx: resources.create(tx, POOL, a_pool()))
    store.write(lambda tx: ledger.set_room(tx, "node-a", "local", {"vcpu": (4000, 3000)}))
    store.write(lambda tx: resources.create(tx, Ref("bundle", "ch-1", "default"), a_bundle()))
    command = [sys.executable, "-c", READ, str(tmp_path / "state.db"), *QUERIES]
    read = subprocess.run(command, capture_output=True, text=True, check=True)
    due = "1970-01-01 00:16:40"
    assert read.stdout.strip() == (
        f'[[], [["pool", "local", "{due}", 0], ["bundle", "ch-1", "{due}", 0]], [], [["node-a", 3000]], '
        f'[[3, "ADDED", "{due}", 1]]]'
    )
    store.write(lambda tx: resources.create(tx, Ref("bundle", "ch-2", "default"), a_bundle()))
    store.close()
