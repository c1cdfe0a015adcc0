"""Who may do what: the role that each route asks for, and the refusal of those who have not got it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from api.http.problems import Problem
from api.http.services import Caller

ROOT = "/apis/rmctl/v1"
SECRETS = f"{ROOT}/namespaces/{{project}}/secrets"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
RULES = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ROLES = ("viewer", "operator", "admin")
"""Each may all that the one before it may. The role of nodes, `agent`, is none of them: here it may nothing."""
OPEN = ("/healthz", "/livez", "/readyz", "/ui/static/{name}", "/webhooks/{project}/{name}")
"""Answered to anyone who can reach the listener; the page that says no has a style too."""


class Need(NamedTuple):
    """What a route asks for. `verb` completes "may not …"; a route that `reads` is not in the audit."""

    role: str
    verb: str
    reads: bool = False


def reading(verb: str, role: str = "viewer") -> Need:
    return Need(role, verb, reads=True)


LOOK = reading("look at this")
OF_COLLECTIONS = {"GET": reading("list"), "POST": Need("operator", "create")}
OF_ONE = {
    "GET": reading("get"),
    "PUT": Need("operator", "update"),
    "PATCH": Need("operator", "patch"),
    "DELETE": Need("operator", "delete"),
}
ONLY_GET = {"GET": LOOK}


def on_each(verb: str, wanted: Need) -> dict[str, dict[str, Need]]:
    """What is done to one resource by a POST below it."""
    inside = (f"{ROOT}/{{plural}}/{{name}}/{verb}", f"{ROOT}/namespaces/{{project}}/{{plural}}/{{name}}/{verb}")
    return {path: {"POST": wanted} for path in inside}


NEEDS: Mapping[str, Mapping[str, Need]] = {
    **dict.fromkeys(
        (
            "/", "/api", "/apis", "/apis/rmctl", ROOT, "/api/v1", "/openapi/v2", "/openapi/v3",
            "/openapi/v3/api/v1", "/openapi/v3/apis/rmctl/v1", "/version", "/metrics",
            "/ui", "/ui/", "/ui/{kind}/{name}", f"{ROOT}/server", f"{ROOT}/server/authority",
            f"{ROOT}/definitions/{{kind}}/schema", f"{ROOT}/events", f"{ROOT}/effects", f"{ROOT}/queue", f"{ROOT}/runs",
            "/api/v1/events", "/api/v1/namespaces/{project}/events",
            "/api/v1/services", "/api/v1/namespaces/{project}/services",
            f"{ROOT}/{{plural}}/{{name}}/why", f"{ROOT}/namespaces/{{project}}/{{plural}}/{{name}}/why",
            f"{ROOT}/jobs/{{name}}/log", f"{ROOT}/namespaces/{{project}}/jobs/{{name}}/log",
        ),
        ONLY_GET,
    ),
    f"{ROOT}/{{plural}}": OF_COLLECTIONS,
    f"{ROOT}/namespaces/{{project}}/{{plural}}": OF_COLLECTIONS,
    f"{ROOT}/{{plural}}/{{name}}": OF_ONE,
    f"{ROOT}/namespaces/{{project}}/{{plural}}/{{name}}": OF_ONE,
    f"{ROOT}/batch": {"POST": Need("operator", "apply")},
    f"{ROOT}/plan": {"POST": reading("plan")},
    f"{ROOT}/decisions/{{event}}": ONLY_GET,
    "/api/v1/nodes": {"GET": LOOK, **dict.fromkeys(("POST", "PUT", "DELETE"), LOOK)},
    "/api/v1/nodes/{name}": {
        "GET": LOOK,
        "PATCH": Need("operator", "cordon"),
        **dict.fromkeys(("POST", "PUT", "DELETE"), LOOK),
    },
    **dict.fromkeys(
        (
            "/api/v1/pods", "/api/v1/namespaces/{project}/pods", "/api/v1/namespaces/{project}/pods/{name}",
            "/api/v1/namespaces", "/api/v1/namespaces/{project}",
        ),
        dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), LOOK),
    ),
    **on_each("reconcile", Need("operator", "reconcile")),
    **on_each("removal", Need("admin", "force the removal of")),
    **on_each("exec", Need("admin", "run commands in")),
    f"{ROOT}/runs/control": {"POST": Need("admin", "control runs")},
    f"{ROOT}/definitions/workbench": {"POST": Need("admin", "run definitions")},
    f"{ROOT}/effects/resolve": {"POST": Need("admin", "resolve effects")},
    f"{ROOT}/queue/rebuild": {"POST": Need("admin", "rebuild the queue")},
    f"{ROOT}/server/hold": {"GET": LOOK, "POST": Need("admin", "hold effects")},
    f"{ROOT}/server/resume": {"POST": Need("admin", "let effects begin")},
    f"{ROOT}/audit/capacity": ONLY_GET,
    f"{ROOT}/audit/records": ONLY_GET,
    f"{ROOT}/backup": {"GET": LOOK, "POST": Need("admin", "make backups")},
    f"{ROOT}/backup/kept": {"POST": Need("admin", "make backups")},
    SECRETS: {"GET": reading("list secrets", "operator")},
    f"{SECRETS}/{{name}}": {"DELETE": Need("operator", "delete secrets")},
    f"{SECRETS}/{{name}}/{{key}}": {
        "PUT": Need("operator", "set secrets"),
        "DELETE": Need("operator", "delete secrets"),
    },
    f"{ROOT}/diagnosis": {"GET": reading("diagnose the server", "admin")},
    f"{ROOT}/server/stop": {"POST": Need("admin", "stop the server")},
    f"{ROOT}/tokens": {"POST": Need("admin", "issue join tokens")},
    f"{ROOT}/tokens/users": {"GET": reading("list tokens", "admin"), "POST": Need("admin", "issue tokens")},
    f"{ROOT}/tokens/users/{{name}}": {"DELETE": Need("admin", "revoke tokens")},
    **dict.fromkeys(
        (f"{ROOT}/{{plural}}/{{name}}/scale", f"{ROOT}/namespaces/{{project}}/{{plural}}/{{name}}/scale"),
        dict.fromkeys(("GET", "PUT", "PATCH"), LOOK),
    ),
    **{path: {"POST": reading("ask what is allowed")} for path in (REVIEWS, RULES, WHO)},
    f"{ROOT}/tokens/pages": {"POST": Need("viewer", "open the page")},
}  # fmt: skip
UNLISTED = Need("admin", "use this")
"""What a route asks for that nobody has thought about."""


def need(path: str, method: str) -> Need:
    """Of a route by its template; HEAD reads what GET reads."""
    known = NEEDS.get(path, {})
    return known.get("GET" if method == "HEAD" else method, UNLISTED)


def allows(caller: Caller, wanted: Need) -> bool:
    return caller.role in ROLES and ROLES.index(caller.role) >= ROLES.index(wanted.role)


def refusal(caller: Caller, wanted: Need, what: str = "") -> Problem:
    """`what` is the kind in question, in the plural."""
    verb = f"{wanted.verb.removesuffix(' this')} {what}" if what else wanted.verb
    return Problem(403, "Forbidden", f'{caller.role} "{caller.name}" may not {verb}: that takes the role {wanted.role}')
