"""`/metrics` in the Prometheus text format: conditions by kind, waiting, the queue, and what HTTP itself did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http.counters import Counters
from api.http.hub import Hub
from api.http.services import Services
from api.http.threads import Threads
from resources.instants import instant
from store import backlog, backups, changes, holds, resources, tallies
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
        started = Gauge("rm_start_time_seconds", "When this server started, unix time.", registry=self._registry)
        started.set(services.server.started_at)
        ready = Gauge("rm_ready", "1 while the server takes work.", registry=self._registry)
        ready.set_function(lambda: float(services.ready()))
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
    """What the store says now. Nothing is labelled by the name of anything but a pool, and pools are few."""
    yield _family(
        "rm_resources",
        "Resources by condition.",
        ("kind", "condition", "status", "reason"),
        tallies.conditions(tx).items(),
    )
    waiting = [((kind,), max(0.0, tx.now - instant(since))) for kind, since in tallies.waiting_since(tx).items()]
    yield _family("rm_oldest_waiting_seconds", "How long the longest waiting one waits.", ("kind",), waiting)
    effects = tallies.open_effects(tx).items()
    yield _family("rm_effects_open", "Effects that have not come to their end.", ("provider", "state"), effects)
    yield GaugeMetricFamily("rm_queue_depth", "Keys in the backlog.", value=backlog.depth(tx))
    oldest = backlog.oldest_due(tx)
    late = 0.0 if oldest is None else max(0.0, tx.now - oldest)
    yield GaugeMetricFamily("rm_queue_oldest_due_seconds", "How long the key waits that is due longest.", value=late)
    yield GaugeMetricFamily("rm_held", "1 while no effect is begun.", value=float(holds.find(tx) is not None))
    backup = backups.last(tx)
    at = 0.0 if backup is None else float(backup["at"])
    yield GaugeMetricFamily("rm_last_backup_seconds", "When the newest verified backup was kept, unix time.", value=at)
    yield GaugeMetricFamily("rm_revision", "The newest revision.", value=changes.head(tx))
    pools = resources.list_all(tx, "pool")
    for name, about, field in POOL_GAUGES:
        yield _family(name, about, ("pool",), [((pool.name,), getattr(pool.status, field)) for pool in pools])


def _family(name: str, about: str, labels: tuple[str, ...], found: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
    family = GaugeMetricFamily(name, about, labels=labels)
    for values, number in sorted(found):
        family.add_metric(values, number)
    return family


POOL_GAUGES = (
    ("rm_pool_nodes", "Nodes of a pool.", "node_count"),
    ("rm_pool_live_spares", "Spares of a pool that live and are not consumed.", "live_spares"),
    ("rm_pool_spare_target", "Spares that a pool is asked to have.", "spare_target"),
    ("rm_pool_used_capacity_fraction", "Claimed of what can be claimed in a pool.", "used_capacity_fraction"),
    ("rm_pool_waiting_jobs", "Jobs that wait for a place in a pool.", "waiting_jobs"),
)


def counters(counts: Mapping[str, float]) -> list[Metric]:
    return [
        CounterMetricFamily(name.removesuffix("_total"), name.replace("_", " "), value=value)
        for name, value in sorted(counts.items())
    ]
