"""Tokens of people: issued with a role, told once, listed without their secret, revoked by name."""

from __future__ import annotations

from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import audit, exchange
from api.http.door import certificate_key
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
from store.grants import Grant, Purpose
from store.tx import Tx

FIELDS = ("name", "role", "ttlSeconds", "certificate", "kind", "apiVersion")
MAX_SECONDS = 10 * 366 * 86400.0
CERTIFICATE_SECONDS = 365 * 86400.0


NOUNS = {"user": "token", "certificate": "certificate"}


class Asked(NamedTuple):
    """`ttl` in seconds; None: for ever, and for a certificate a year."""

    name: str
    role: str
    ttl: float | None = None
    certificate: bool = False


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
                audit.of_the_server(tx, f"revoked what {printable(name)} could call with", by=caller.name)
            return found

        if not await self._threads.write(write):
            raise Problem(404, "NotFound", f'token "{printable(name)}": not found')
        return exchange.answer({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})

    async def _issue(self, request: Request) -> Response:
        wanted, caller = asked(await exchange.document(request)), exchange.caller(request)
        ttl, secret, shown = self._made(wanted)
        kind: Purpose = "certificate" if wanted.certificate else "user"

        def write(tx: Tx) -> Grant:
            grants.issue(tx, secret, kind, wanted.name, wanted.role, ttl=ttl)
            audit.of_the_server(tx, f"issued a {NOUNS[kind]} of role {wanted.role} to {wanted.name}", by=caller.name)
            return Grant(wanted.name, wanted.role, kind, tx.now, None if ttl is None else tx.now + ttl)

        grant = await self._threads.write(write)
        return exchange.answer({"kind": "UserToken", "apiVersion": "rmctl/v1", **shown, **told(grant)}, 201)

    def _made(self, wanted: Asked) -> tuple[float | None, str, Document]:
        """(seconds, what is remembered of it, what is told once)."""
        if not wanted.certificate:
            raw = self._services.token()
            return wanted.ttl, raw, {"token": raw}
        authority = self._services.authority
        if authority is None:
            raise invalid([FieldError("certificate", "this server has no listener with TLS: rmctl server --http")])
        ttl = wanted.ttl or CERTIFICATE_SECONDS
        signed = authority.certify(wanted.name, wanted.role, ttl)
        shown = {"certificate": signed.certificate.decode(), "key": signed.key.decode()}
        return ttl, certificate_key(signed.der), shown


def told(grant: Grant) -> Document:
    found: Document = {
        "name": grant.name,
        "role": grant.role,
        "shows": NOUNS[grant.purpose],
        "createdAt": rfc3339(float(int(grant.created_at))),
    }
    if grant.expires_at is not None:
        found["expiresAt"] = rfc3339(float(int(grant.expires_at)))
    return found


def asked(body: Any) -> Asked:
    """Raises a problem with all that is wrong."""
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
    certificate = body.get("certificate") or False
    if not isinstance(certificate, bool):
        errors.append(FieldError("certificate", "expected true or false"))
    if errors:
        raise invalid(errors)
    return Asked(str(name), str(role), None if ttl is None else float(ttl), certificate)


def _quoted(value: object) -> str:
    return f'"{printable(value)}"' if isinstance(value, str) else spelled(value)
