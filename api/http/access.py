"""What a caller may do, told as `kubectl auth can-i` asks it, from the table of roles."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, compile_path

from api.http import exchange, kubernetes_binary, roles
from api.http.discovery import OF_A_JOB
from api.http.problems import Problem, bad_request
from api.http.services import Caller
from resources.canonical import Document
from resources.registry import every

METHODS = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
}
ON_COLLECTIONS = ("list", "watch", "create")
CORE = {
    "nodes": (("get", "list", "watch", "patch"), "core nodes are read, cordoned and labelled"),
    "events": (("list", "watch"), "events are read"),
    "services": (("list",), "there are no services here"),
}
"""What core kinds take, and why no more."""
BELOW = ("log", "exec", "why", "reconcile", "removal")
"""What is asked of a job beside the job itself."""
EVERYTHING = "*"


SCALED = ("GET", "PUT", "PATCH")


def routes() -> list[Route]:
    scales = [path for path in roles.NEEDS if path.endswith("/scale")]
    return [
        Route(roles.REVIEWS, _review, methods=["POST"]),
        Route(roles.RULES, _rules, methods=["POST"]),
        Route(roles.WHO, _who, methods=["POST"]),
        *(Route(path, _unscaled, methods=list(SCALED)) for path in scales),
    ]


def may(caller: Caller, spec: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether, with a reason for a no. Raises a problem for a question that is none."""
    asked = spec.get("resourceAttributes")
    if isinstance(asked, dict):
        return _resource(caller, {key: value if isinstance(value, str) else "" for key, value in asked.items()})
    path = spec.get("nonResourceAttributes")
    if isinstance(path, dict):
        return _path(caller, str(path.get("path", "")), str(path.get("verb", "")).lower())
    raise bad_request("spec: resourceAttributes or nonResourceAttributes is required")


async def _review(request: Request) -> Response:
    binary = exchange.media_type(request) == kubernetes_binary.MEDIA
    document = kubernetes_binary.review(await exchange.body(request)) if binary else await exchange.document(request)
    spec = document.get("spec") if isinstance(document, dict) else None
    if not isinstance(spec, dict):
        raise bad_request("spec: required, an object")
    allowed, reason = may(exchange.caller(request), spec)
    status: Document = {"allowed": allowed, **({"reason": reason} if reason else {})}
    told = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}}
    return exchange.answer({**told, "spec": spec, "status": status}, 201)


async def _rules(request: Request) -> Response:
    """Everything that the caller may do; what is asked about is a namespace, and a role holds in all of them."""
    await exchange.body(request)
    caller = exchange.caller(request)
    status = {"resourceRules": _of_kinds(caller), "nonResourceRules": _of_paths(caller), "incomplete": False}
    told = {"kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}}
    return exchange.answer({**told, "spec": {}, "status": status}, 201)


async def _who(request: Request) -> Response:
    await exchange.body(request)
    caller = exchange.caller(request)
    told = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "metadata": {}}
    return exchange.answer({**told, "status": {"userInfo": {"username": caller.name, "groups": [caller.role]}}}, 201)


def _of_kinds(caller: Caller) -> list[Document]:
    """Kinds of the same verbs together."""
    asked = [("rmctl", kind.plural, "") for kind in every()] + [("rmctl", "secrets", "")]
    asked += [("rmctl", "jobs", below) for below in BELOW] + [("", plural, "") for plural in CORE]
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for group, plural, below in asked:
        words = {"group": group, "resource": plural, "subresource": below}
        verbs = tuple(verb for verb in METHODS if _resource(caller, {**words, "verb": verb})[0])
        if verbs:
            found.setdefault((group, verbs), []).append(f"{plural}/{below}" if below else plural)
    return [{"verbs": list(verbs), "apiGroups": [group], "resources": names} for (group, verbs), names in found.items()]


def _of_paths(caller: Caller) -> list[Document]:
    """Paths that are about no one kind; what stands in braces is a star."""
    found: dict[tuple[str, ...], list[str]] = {("get",): list(roles.OPEN)}
    for path, needs in roles.NEEDS.items():
        if any(part in path for part in ("{plural}", "/jobs/", "/secrets", "/api/v1/", "/scale")):
            continue
        verbs = tuple(method.lower() for method in needs if roles.allows(caller, roles.need(path, method)))
        if verbs:
            found.setdefault(verbs, []).append(path)
    return [
        {"verbs": list(verbs), "nonResourceURLs": [re.sub(r"\{\w+\}", "*", path) for path in paths]}
        for verbs, paths in found.items()
    ]


async def _unscaled(request: Request) -> Response:
    plural = request.path_params["plural"]
    if not _served(plural):
        raise Problem(404, "NotFound", "there is nothing at this path")
    message = f"{plural} have no replicas to scale: what runs is in the spec"
    hint = "change the spec and apply it, or apply another bundle"
    raise Problem(405, "MethodNotAllowed", message, hint=hint)


def _resource(caller: Caller, asked: Mapping[str, str]) -> tuple[bool, str]:
    verb, plural, group = asked.get("verb", ""), asked.get("resource", ""), asked.get("group", "")
    if EVERYTHING in (verb, plural, group):
        return _all(caller)
    method = METHODS.get(verb)
    if method is None:
        return False, f"there is no verb {verb} here"
    below = asked.get("subresource", "")
    path = f"{roles.ROOT}/{{plural}}" + ("" if verb in ON_COLLECTIONS and not below else "/{name}")
    if plural == "secrets" and not below:
        return _secrets(caller, verb)
    if group == "" and plural in CORE and not below:
        verbs, otherwise = CORE[plural]
        if verb not in verbs:
            return False, f"{otherwise}; {plural}.rmctl takes the rest" if _served(plural) else otherwise
        path = f"/api/v1/{plural}" + ("" if verb in ON_COLLECTIONS else "/{name}")
    elif group != "rmctl" or not _served(plural):
        return False, f"there are no {plural}{f'.{group}' if group else ''} here"
    elif below:
        path = f"{roles.ROOT}/jobs/{{name}}/log" if (plural, below) == ("jobs", "log") else f"{path}/{below}"
    job = group == "rmctl" and plural == "jobs" and not below
    if method not in roles.NEEDS.get(path, {}) or (job and verb not in OF_A_JOB):
        return False, f"{plural} do not take {verb}"
    return _needed(caller, path, method, plural)


def _served(plural: str) -> bool:
    return any(kind.plural == plural for kind in every())


def _secrets(caller: Caller, verb: str) -> tuple[bool, str]:
    if verb in ("get", "watch"):
        return False, "nobody reads a secret back"
    path, method = {
        "list": (roles.SECRETS, "GET"),
        "delete": (f"{roles.SECRETS}/{{name}}", "DELETE"),
    }.get(verb, (f"{roles.SECRETS}/{{name}}/{{key}}", "PUT"))
    return _needed(caller, path, method, "")


def _path(caller: Caller, path: str, verb: str) -> tuple[bool, str]:
    if EVERYTHING in (path, verb):
        return _all(caller)
    method = METHODS.get(verb, verb.upper())
    if method == "GET" and any(compile_path(template)[0].match(path) for template in roles.OPEN):
        return True, ""
    for template, needs in roles.NEEDS.items():
        if compile_path(template)[0].match(path) and method in needs:
            return _needed(caller, template, method, "")
    return False, "there is nothing at this path"


def _all(caller: Caller) -> tuple[bool, str]:
    wanted = roles.Need("admin", "do everything")
    return _said(caller, wanted, "")


def _needed(caller: Caller, path: str, method: str, what: str) -> tuple[bool, str]:
    return _said(caller, roles.need(path, method), what)


def _said(caller: Caller, wanted: roles.Need, what: str) -> tuple[bool, str]:
    if roles.allows(caller, wanted):
        return True, ""
    problem: Problem = roles.refusal(caller, wanted, what)
    return False, problem.message
