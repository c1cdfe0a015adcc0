"""What the API serves, as Kubernetes clients discover it."""

from __future__ import annotations

from resources import registry
from resources.canonical import Document

VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]
OF_A_JOB = ["get", "list", "patch", "update", "watch"]


def paths() -> Document:
    """`/`: where to begin."""
    roots = ["/api", "/api/v1", "/apis", "/apis/rmctl", "/apis/rmctl/v1"]
    return {
        "paths": [*roots, "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/ui", "/version"]
    }


def core_versions() -> Document:
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def groups() -> Document:
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group()]}


def group() -> Document:
    version = {"groupVersion": "rmctl/v1", "version": "v1"}
    return {"kind": "APIGroup", "apiVersion": "v1", "name": "rmctl", "versions": [version], "preferredVersion": version}


def kinds() -> Document:
    """The resources of rmctl/v1."""
    registry.seek()
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": "rmctl/v1",
        "resources": [
            {
                "name": kind.plural,
                "singularName": kind.name,
                "namespaced": kind.namespaced,
                "kind": kind.name,
                "verbs": VERBS if kind.applied else OF_A_JOB,
                "shortNames": list(kind.short),
                "categories": ["all", "rmctl"],
            }
            for kind in registry.every()
        ],
    }


def core_kinds() -> Document:
    """Core kinds that kubectl looks for by itself: nodes to cordon, events to tell, services of which none are.

    Projects as namespaces are no objects here.
    """
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": "v1",
        "resources": [
            {
                "name": plural,
                "singularName": kind.lower(),
                "namespaced": namespaced,
                "kind": kind,
                "verbs": verbs,
                "shortNames": short,
            }
            for plural, kind, namespaced, verbs, short in (
                ("events", "Event", True, ["list", "watch"], ["ev"]),
                ("nodes", "Node", False, ["get", "list", "patch"], []),
                ("services", "Service", True, ["list"], ["svc"]),
            )
        ],
    }


def version(program: str) -> Document:
    """`/version`: the API level that clients compare, and what this program is."""
    return {
        "major": "1",
        "minor": "32",
        "gitVersion": f"v1.32.0+rmctl.{program}",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "",
        "goVersion": "",
        "compiler": "",
        "platform": "",
        "rmctl": program,
    }
