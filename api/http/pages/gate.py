"""Who may see the pages: an address that is good once becomes a cookie that reads, and nothing else."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.responses import RedirectResponse, Response
from starlette.types import Scope

from api.http.envelope import printable
from api.http.pages.links import HOME
from api.http.services import Caller
from store import grants
from store.tx import Tx

SESSION_SECONDS = 12 * 3600.0
ROLE = "viewer"


def homeward(scope: Scope) -> Response | None:
    """A browser that has only the server's address is led to the pages."""
    if scope["path"] != "/" or scope["method"] not in ("GET", "HEAD") or "text/html" not in _header(scope, b"accept"):
        return None
    query = scope.get("query_string", b"").decode("latin-1")
    return RedirectResponse(f"{HOME}?{query}" if query else HOME, 303)


def is_page(path: str) -> bool:
    return path == HOME or path.startswith(f"{HOME}/")


def strange(scope: Scope, names: Sequence[str]) -> str:
    """Why a page is not given: another site's name points here, or its page asks. Empty when it is given."""
    host, origin = _header(scope, b"host").lower(), _header(scope, b"origin").lower()
    if not _ours(host, names):
        return f'this server has no page under the name "{printable(host)}"'
    if origin and origin != f"{scope.get('scheme', 'http')}://{host}":
        return f'pages of "{printable(origin)}" may not ask for this one'
    return ""


def _ours(host: str, names: Sequence[str]) -> bool:
    """Whether a Host header names this machine; the port may be a tunnel's."""
    name, colon, port = host.rpartition(":")
    bare = (name if colon and port.isdigit() else host).strip("[]")
    if bare == "localhost" or bare in {one.lower() for one in names}:
        return True
    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return False


def shown_session(scope: Scope) -> str:
    """The secret in the cookie of this port; empty when there is none."""
    try:
        cookies = SimpleCookie(_header(scope, b"cookie"))
    except CookieError:
        return ""
    found = cookies.get(cookie_name(scope))
    return str(found.value) if found is not None else ""


def shown_once(scope: Scope) -> str:
    """The token in the address of the first visit."""
    return dict(_query(scope)).get("token", "") if scope["method"] == "GET" else ""


def exchange(tx: Tx, token: str, session: str) -> Caller | None:
    """Spends the token for a session; None when it is not good, or was used."""
    grant = grants.spend(tx, token)
    if grant is None:
        return None
    grants.issue(tx, session, "session", grant.name, ROLE, ttl=SESSION_SECONDS)
    return Caller(grant.name, ROLE)


def entered(scope: Scope, session: str) -> Response:
    """To the page itself, without the token in its address."""
    response = without_token(scope)
    secure = scope.get("scheme") == "https"
    response.set_cookie(
        cookie_name(scope), session, int(SESSION_SECONDS), path=HOME, secure=secure, httponly=True, samesite="strict"
    )
    return response


def without_token(scope: Scope) -> Response:
    """The path is below the pages' own, and so is what it leads to."""
    rest = urlencode([(name, value) for name, value in _query(scope) if name != "token"])
    address = f"{scope['path']}?{rest}" if rest else scope["path"]
    return RedirectResponse(address, 303, {"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"})


def _query(scope: Scope) -> list[tuple[str, str]]:
    query: bytes = scope.get("query_string", b"")
    return parse_qsl(query.decode("latin-1"), keep_blank_values=True)


def cookie_name(scope: Scope) -> str:
    """Browsers keep cookies by host alone; servers on one machine differ in their port."""
    _, _, port = _header(scope, b"host").rpartition(":")
    return f"rmctl-page-{port}" if port.isdigit() else "rmctl-page"


def _header(scope: Scope, name: bytes) -> str:
    headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
    return next((value for key, value in headers if key == name), b"").decode("latin-1")
