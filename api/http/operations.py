"""The endpoints of what operators do beside changing specs, together."""

from __future__ import annotations

from starlette.routing import Route

from api.http.backups import Backups
from api.http.diagnosis import Diagnosis
from api.http.executing import Executing
from api.http.holding import Holding
from api.http.removal import Removal
from api.http.replays import Replays
from api.http.resolving import Resolving
from api.http.secret_routes import Secrets
from api.http.services import Services
from api.http.threads import Threads
from api.http.waking import Waking


def routes(services: Services, threads: Threads) -> list[Route]:
    """They come before the routes of resources, some of which would match them too."""
    return [
        *Waking(threads).routes(),
        *Holding(services, threads).routes(),
        *Resolving(threads).routes(),
        *Removal(threads).routes(),
        *Secrets(services, threads).routes(),
        *Executing(services, threads).routes(),
        *Backups(services, threads).routes(),
        *Diagnosis(services, threads).routes(),
        *Replays(services, threads).routes(),
    ]
