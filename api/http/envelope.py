"""The envelope of a document that a client sent: checked field by field before its spec is looked at."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from resources import registry
from resources.canonical import Document
from resources.frozen import spelled
from resources.kind import Kind
from resources.labels import SYSTEM, label_key_problem, pair_problem
from resources.names import KIND, job_key, key_problem, label_problem, wire_of
from resources.reference import Ref
from resources.registry import BUILT_IN, every, kind_named
from resources.resource import KEY_ANNOTATION
from resources.validation import FieldError, Invalid
from resources.wire import API_VERSION

MAX_LABELS = 64
MAX_ANNOTATION_BYTES = 256 * 1024
DEFAULT_PROJECT = "default"
MOST_PLACES = 3
TOP = ("apiVersion", "kind", "metadata", "spec", "status")
METADATA = ("name", "project", "namespace", "labels", "annotations", "uid", "resourceVersion")
IGNORED = (
    "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers",
    "ownerReferences", "managedFields", "selfLink", "key",
)  # fmt: skip
ANNOTATION = re.compile(
    r"(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII
)


@dataclass(frozen=True)
class Submission:
    """One document, its envelope read. `sent` holds what the server keeps itself and a client may only repeat."""

    kind: Kind
    ref: Ref
    spec: Document
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    uid: str | None = None
    resource_version: int | None = None
    sent: Mapping[str, Any] = field(default_factory=dict)

    @property
    def whole(self) -> Document:
        """What a field manager may own of it."""
        return {"spec": self.spec, "labels": dict(self.labels), "annotations": dict(self.annotations)}


def read(
    document: object, *, kind: Kind | None = None, project: str | None = None, name: str | None = None
) -> Submission:
    """The submission behind a document; `kind`, `project`, `name` are what the path says. Raises Invalid."""
    if not isinstance(document, dict):
        raise Invalid([FieldError("", f"expected an object, got {spelled(document)}")])
    errors = [_unknown(key, key, TOP) for key in document if key not in TOP]
    found = _kind(document, kind, errors)
    metadata = document.get("metadata")
    if metadata is None:
        metadata = {}
    if not isinstance(metadata, dict):
        errors.append(FieldError("metadata", f"expected an object, got {spelled(metadata)}"))
        metadata = {}
    errors += [_unknown(f"metadata.{key}", key, METADATA) for key in metadata if key not in METADATA + IGNORED]
    called = _name(metadata, found, name, errors)
    where = _project(metadata, found, project, errors)
    labels = _texts(metadata, "labels", errors)
    annotations = _texts(metadata, "annotations", errors)
    errors += _label_problems(labels)
    errors += _annotation_problems(annotations)
    version = resource_version(metadata.get("resourceVersion"), errors)
    uid = metadata.get("uid")
    if uid is not None and not isinstance(uid, str):
        errors.append(FieldError("metadata.uid", f"expected text, got {spelled(uid)}"))
    spec = document.get("spec")
    if spec is None:
        spec = {}
    if not isinstance(spec, dict):
        errors.append(FieldError("spec", f"expected an object, got {spelled(spec)}"))
    if errors or found is None:
        raise Invalid(errors)
    sent = {key: metadata[key] for key in IGNORED if metadata.get(key)}
    if found.name not in BUILT_IN:
        annotations |= _keyed(metadata, called)
        sent.pop("key", None)
    if document.get("status"):
        sent["status"] = document["status"]
    return Submission(found, Ref(found.name, called, where), spec, labels, annotations, uid or None, version, sent)


def resource_version(value: object, errors: list[FieldError]) -> int | None:
    """A precondition: digits in a text; absent or empty is none."""
    if value in (None, ""):
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    errors.append(FieldError("metadata.resourceVersion", "expected a whole number in a text"))
    return None


def _kind(document: Mapping[str, Any], expected: Kind | None, errors: list[FieldError]) -> Kind | None:
    version, word = document.get("apiVersion"), document.get("kind")
    if version is None:
        errors.append(FieldError("apiVersion", "required", f"apiVersion: {API_VERSION}"))
    elif version != API_VERSION:
        errors.append(FieldError("apiVersion", f"expected {API_VERSION}, got {_quoted(version)}"))
    if word is None:
        errors.append(FieldError("kind", "required"))
        return expected
    found = kind_named(word) if isinstance(word, str) else None
    if found is None:
        names = [one.name for one in every()]
        near = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.5) if isinstance(word, str) else []
        guess = f" (did you mean {near[0]}?)" if near else f"; kinds: {', '.join(names)}"
        errors.append(FieldError("kind", f"unknown kind {_quoted(word)}{guess}", _own_kinds(word)))
        return expected
    if expected is not None and found.name != expected.name:
        errors.append(FieldError("kind", f"expected {expected.name}, got {_quoted(word)}"))
    return found


def _own_kinds(word: object) -> str:
    """Where a kind of one's own would be; empty for what is no name of one."""
    if not isinstance(word, str) or not KIND.fullmatch(word):
        return ""
    places = [str(place) for look in registry.PLACES for place in look()]
    if not places:
        return "kinds of your own are known to a server only"
    more = f" or {len(places) - MOST_PLACES} more" if len(places) > MOST_PLACES else ""
    return f"a kind of your own is {word}.resource_manager.py in {', '.join(places[:MOST_PLACES])}{more}"


def _name(metadata: Mapping[str, Any], kind: Kind | None, expected: str | None, errors: list[FieldError]) -> str:
    name = metadata.get("name")
    if kind is not None and kind.name not in BUILT_IN:
        return _defined_name(metadata, expected, errors)
    if name in (None, ""):
        if expected is None:
            empty = name == "" and kind is not None and kind.name == "pool"
            errors.append(FieldError("metadata.name", "required", code="emptyPoolName" if empty else ""))
        return expected or ""
    if not isinstance(name, str):
        errors.append(FieldError("metadata.name", f"expected text, got {spelled(name)}"))
        return ""
    if kind is not None and kind.name == "job":
        key = job_key(name)
        problem = None if key else "expected BUNDLE/ROLE/JOB"
        name = key.wire if key else name
    else:
        problem = label_problem(name)
    if problem:
        errors.append(FieldError("metadata.name", problem))
    elif expected is not None and name != expected:
        errors.append(FieldError("metadata.name", f'expected "{expected}" as in the path, got "{name}"'))
    return name


def _defined_name(metadata: Mapping[str, Any], expected: str | None, errors: list[FieldError]) -> str:
    """A kind that a file defines has keys; a name that is none on the wire is one."""
    for word in ("key", "name"):
        given = metadata.get(word)
        if given in (None, ""):
            continue
        problem = key_problem(given) if isinstance(given, str) else f"expected text, got {spelled(given)}"
        if problem:
            errors.append(FieldError(f"metadata.{word}", problem))
            return ""
        wire, name = wire_of(given), metadata.get("name")
        if word == "key" and name not in (None, "", given, wire):
            errors.append(FieldError("metadata.name", f'expected "{wire}", the name of this key, or none'))
        elif expected is not None and wire != expected:
            errors.append(FieldError(f"metadata.{word}", f'expected "{expected}" as in the path, got "{wire}"'))
        return wire
    if expected is None:
        errors.append(FieldError("metadata.name", "required"))
    return expected or ""


def _keyed(metadata: Mapping[str, Any], name: str) -> dict[str, str]:
    """The annotation that keeps a key which is no name."""
    key = metadata.get("key") or metadata.get("name")
    return {KEY_ANNOTATION: key} if isinstance(key, str) and key != name else {}


def _project(metadata: Mapping[str, Any], kind: Kind | None, expected: str | None, errors: list[FieldError]) -> str:
    """Cluster-wide kinds have none, whatever a client that knows only namespaces says."""
    if kind is not None and not kind.namespaced:
        return ""
    project = None
    for key in ("project", "namespace"):
        value = metadata.get(key)
        if value in (None, ""):
            continue
        problem = label_problem(value) if isinstance(value, str) else f"expected text, got {spelled(value)}"
        if problem:
            errors.append(FieldError(f"metadata.{key}", problem))
        elif value != (project or expected or value):
            errors.append(FieldError(f"metadata.{key}", f'expected "{project or expected}", got "{value}"'))
        project = project or value
    return str(expected or project or DEFAULT_PROJECT)


def _texts(metadata: Mapping[str, Any], name: str, errors: list[FieldError]) -> dict[str, str]:
    texts = metadata.get(name)
    if texts is None:
        return {}
    if not isinstance(texts, dict):
        errors.append(FieldError(f"metadata.{name}", f"expected an object, got {spelled(texts)}"))
        return {}
    wrong = [key for key, value in texts.items() if not isinstance(value, str) and value is not None]
    errors += [FieldError(f"metadata.{name}.{key}", f"expected text, got {spelled(texts[key])}") for key in wrong]
    return {key: value for key, value in texts.items() if isinstance(value, str)}


def _label_problems(labels: Mapping[str, str]) -> Iterable[FieldError]:
    if len(labels) > MAX_LABELS:
        yield FieldError("metadata.labels", f"at most {MAX_LABELS} labels, got {len(labels)}")
    for key, value in labels.items():
        problem = pair_problem(key, value)
        if problem is not None and not (key.startswith(SYSTEM) and value == "*"):
            yield FieldError(f"metadata.labels.{printable(key)}", problem)


def _annotation_problems(annotations: Mapping[str, str]) -> Iterable[FieldError]:
    for key in annotations:
        if not ANNOTATION.fullmatch(key):
            yield FieldError(f"metadata.annotations.{printable(key)}", label_key_problem(key))
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > MAX_ANNOTATION_BYTES:
        yield FieldError("metadata.annotations", f"at most {MAX_ANNOTATION_BYTES} bytes in all (256 KiB)")


def _unknown(path: str, key: str, known: Iterable[str]) -> FieldError:
    near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.6)
    guess = f" (did you mean {near[0]}?)" if near else ""
    return FieldError(printable(path), f"unknown field {printable(path)}{guess}", unknown=True)


def _quoted(value: object) -> str:
    return f'"{printable(value)}"' if isinstance(value, str) else spelled(value)


def printable(text: str, limit: int = 80) -> str:
    """A text that stands on one line, its control characters escaped, cut where it grows long."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in text[:limit])
    return shown + ("…" if len(text) > limit else "")
