"""The run that is traced: `python -m tests.powerloss.run FOLDER SYNCHRONOUS`; each name is noted once it is durable."""

from __future__ import annotations

import os
import sys
import threading
from functools import partial
from pathlib import Path

from controllers.runtime.environment import Threads
from resources.reference import Ref
from store import resources
from store.store import Store
from store.tx import Tx
from tests.builders import a_bundle

WRITERS = 3
EACH = 12


def main(folder: Path, synchronous: str) -> None:
    store = Store.open(folder, Threads(), synchronous=synchronous)
    store.write(_checkpoint_often)
    notes = os.open(folder / "acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    writers = [threading.Thread(target=_write, args=(store, notes, number)) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    store.close()


def _checkpoint_often(tx: Tx) -> None:
    """So that checkpoints fall into the run, too."""
    tx.connection.exec_driver_sql("PRAGMA wal_autocheckpoint=40")


def _write(store: Store, notes: int, number: int) -> None:
    for count in range(EACH):
        name = f"b-{number}-{count}"
        store.write(partial(resources.create, ref=Ref("bundle", name, "default"), document=a_bundle()))
        os.write(notes, f"{name}\n".encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
