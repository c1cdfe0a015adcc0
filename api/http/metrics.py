"""`/metrics` in the Prometheus text format: conditions by kind, waiting, the queue, and what HTTP itself did."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http.counters import Counters
from api.http.hub import Hub
from api.http.services import Services
from api.http.threads import Threads
from resources.registry import KINDS
from store import queue, resources
from store.tx import Tx

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counters live here; gauges are read from the store when asked. Nothing is labelled by name."""

    def __init__(self, services: Services, threads: Threads, hub: Hub) -> None:
        self._services = services
        self._threads = threads
        self._counters = Counters(services.store)
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "rm_http_requests", "Answers by method and code.", ("method", "code"), registry=self._registry
        )
        streams = Gauge("rm_http_streams", "Open watches and followed logs.", registry=self._registry)
        streams.set_function(lambda: hub.open_streams)

    def routes(self) -> list[Route]:
        return [Route("/metrics", self.show, methods=["GET"])]

    def count(self, method: str, code: int) -> None:
        known = method if method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS") else "other"
        self._requests.labels(known, str(code)).inc()

    async def show(self, _request: Request) -> Response:
        families = await self._threads.read(lambda tx: list(gauges(tx)))
        families += counters({**self._services.counters(), **self._counters()})
        registry = CollectorRegistry()
        registry.register(_Fixed(families))
        return Response(generate_latest(registry) + generate_latest(self._registry), media_type=CONTENT_TYPE)


class _Fixed:
    """Families that were read already."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families


def gauges(tx: Tx) -> Iterator[Metric]:
    """What the store says now."""
    tally: Tally[tuple[str, str, str, str]] = Tally()
    waiting: dict[str, float] = {}
    for kind in KINDS:
        for resource in resources.list_all(tx, kind.name):
            for condition in resource.status.conditions:
                tally[(kind.name, condition.type, condition.status, condition.reason)] += 1
            since = getattr(resource.status, "waiting_since", None)
            if since is not None:
                waiting[kind.name] = max(waiting.get(kind.name, 0.0), tx.now - since)
    found = GaugeMetricFamily(
        "rm_resources", "Resources by condition.", labels=("kind", "condition", "status", "reason")
    )
    for labels, number in sorted(tally.items()):
        found.add_metric(labels, number)
    yield found
    oldest = GaugeMetricFamily("rm_oldest_waiting_seconds", "How long the longest waiting one waits.", labels=("kind",))
    for name, seconds in sorted(waiting.items()):
        oldest.add_metric((name,), seconds)
    yield oldest
    yield GaugeMetricFamily("rm_queue_depth", "Keys in the queue.", value=queue.depth(tx))


def counters(counts: Mapping[str, float]) -> list[Metric]:
    return [
        CounterMetricFamily(name.removesuffix("_total"), name.replace("_", " "), value=value)
        for name, value in sorted(counts.items())
    ]
