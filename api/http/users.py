"""Tokens of people: issued with a role, told once, listed without their secret, revoked by name."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import audit, exchange
from api.http.endpoints import ROOT
from api.http.envelope import printable
from api.http.problems import Problem, bad_request, invalid
from api.http.roles import ROLES
from api.http.services import Services
from api.http.threads import Threads
from resources.canonical import Document
from resources.frozen import spelled
from resources.instants import rfc3339
from resources.names import label_problem
from resources.validation import FieldError
from store import grants
from store.grants import Grant
from store.tx import Tx

FIELDS = ("name", "role", "ttlSeconds", "kind", "apiVersion")
MAX_SECONDS = 10 * 366 * 86400.0


class Users:
    """`POST` gives a token for a name; the token that this name had before is void from then on."""

    def __init__(self, services: Services, threads: Threads) -> None:
        self._services = services
        self._threads = threads

    def routes(self) -> list[Route]:
        return [
            Route(f"{ROOT}/tokens/users", self.collection, methods=["GET", "POST"]),
            Route(f"{ROOT}/tokens/users/{{name}}", self.revoke, methods=["DELETE"]),
        ]

    async def collection(self, request: Request) -> Response:
        if request.method == "POST":
            return await self._issue(request)
        items = [told(grant) for grant in await self._threads.read(grants.list_all)]
        return exchange.answer({"kind": "UserTokenList", "apiVersion": "rmctl/v1", "metadata": {}, "items": items})

    async def revoke(self, request: Request) -> Response:
        name, caller = request.path_params["name"], exchange.caller(request)

        def write(tx: Tx) -> int:
            found = grants.revoke(tx, name)
            if found:
                audit.did(tx, caller, f"revoked what {printable(name)} could call with")
            return found

        if not await self._threads.write(write):
            raise Problem(404, "NotFound", f'token "{printable(name)}": not found')
        return exchange.answer({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})

    async def _issue(self, request: Request) -> Response:
        name, role, ttl = asked(await exchange.document(request))
        raw, caller = self._services.token(), exchange.caller(request)

        def write(tx: Tx) -> Grant:
            grants.issue(tx, raw, "user", name, role, ttl=ttl)
            audit.did(tx, caller, f"issued a token of role {role} to {name}")
            return Grant(name, role, "user", tx.now, None if ttl is None else tx.now + ttl)

        grant = await self._threads.write(write)
        return exchange.answer({"kind": "UserToken", "apiVersion": "rmctl/v1", "token": raw, **told(grant)}, 201)


def told(grant: Grant) -> Document:
    found: Document = {
        "name": grant.name,
        "role": grant.role,
        "shows": "a certificate" if grant.purpose == "certificate" else "a token",
        "createdAt": rfc3339(float(int(grant.created_at))),
    }
    if grant.expires_at is not None:
        found["expiresAt"] = rfc3339(float(int(grant.expires_at)))
    return found


def asked(body: Any) -> tuple[str, str, float | None]:
    """(name, role, seconds or None for ever). Raises a problem with all that is wrong."""
    if not isinstance(body, dict):
        raise bad_request(f"a token request is an object, got {spelled(body)}")
    name, role, ttl = body.get("name"), body.get("role"), body.get("ttlSeconds")
    errors = [FieldError(key, f"unknown field {printable(key)}", unknown=True) for key in body if key not in FIELDS]
    problem = label_problem(name) if isinstance(name, str) and name else "expected text" if name else "required"
    if problem:
        errors.append(FieldError("name", problem))
    if role is None:
        errors.append(FieldError("role", f"required: one of {', '.join(ROLES)}"))
    elif role not in ROLES:
        errors.append(FieldError("role", f"{_quoted(role)} is not one of {', '.join(ROLES)}"))
    if ttl is not None and (isinstance(ttl, bool) or not isinstance(ttl, int | float) or not 0 < ttl <= MAX_SECONDS):
        errors.append(FieldError("ttlSeconds", f"expected a number over 0, at most {MAX_SECONDS:g}"))
    if errors:
        raise invalid(errors)
    return str(name), str(role), None if ttl is None else float(ttl)


def _quoted(value: object) -> str:
    return f'"{printable(value)}"' if isinstance(value, str) else spelled(value)
