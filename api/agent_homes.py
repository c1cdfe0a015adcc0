"""Which nodes keep a folder of which job, as far as they said so since this server began."""

from __future__ import annotations

import threading
from collections import defaultdict


class Homes:
    """Safe from every thread: reports come from some, the end of a job from the writer's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nodes: defaultdict[str, set[str]] = defaultdict(set)

    def keep(self, node: str, *uids: str) -> None:
        with self._lock:
            for uid in uids:
                self._nodes[uid].add(node)

    def leave(self, uid: str) -> frozenset[str]:
        """The job is gone: the nodes that have a folder of it, which are forgotten here."""
        with self._lock:
            return frozenset(self._nodes.pop(uid, ()))
