"""What else there is, for admission: documents of the same set first, then the store."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from resources.canonical import Document
from resources.job import Job
from resources.names import people
from resources.reference import Ref
from store import resources, secret_index
from store.tx import Tx


class Everything:
    """References resolved against a set of documents and one transaction.

    `criteria` are the ids that rankings may name.
    """

    def __init__(
        self, tx: Tx, together: Mapping[Ref, Document] | None = None, *, criteria: Collection[str] = ()
    ) -> None:
        self._tx = tx
        self._criteria = criteria
        self._together = together or {}

    def pool(self, name: str) -> Document | None:
        return self._spec(Ref("pool", name))

    def pools(self) -> Iterable[str]:
        stored = {pool.name for pool in resources.list_all(self._tx, "pool")}
        return stored | {ref.name for ref in self._together if ref.kind == "pool"}

    def template(self, project: str, name: str) -> Document | None:
        return self._spec(Ref("template", name, project))

    def secret(self, project: str, name: str, key: str) -> bool:
        return secret_index.stands(self._tx, project, name, key)

    def criteria(self) -> Collection[str]:
        return self._criteria

    def fenced(self, pool: str) -> Iterable[str]:
        jobs = (job for job in resources.list_all(self._tx, "job") if isinstance(job, Job))
        return [people(job.name) for job in jobs if job.spec.pool == pool and job.spec.on_disconnect == "stop"]

    def _spec(self, ref: Ref) -> Document | None:
        if ref in self._together:
            return self._together[ref]
        found = resources.find(self._tx, ref)
        document: Document | None = None if found is None or found.deleting else found.document
        return document
