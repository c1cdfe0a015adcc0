"""Reading requests and writing responses: bodies with their limit, media types, warnings, refusals as Status."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from api.http import strict_json, yaml_text
from api.http.envelope import printable
from api.http.problems import Problem, called, translated
from api.http.queries import unsupported_media
from api.http.services import Caller
from api.http.showing import ROTTEN, way_out
from controllers.runtime.outcomes import Stopped
from store.errors import Corrupt, Full, StoreError, TooLarge

MAX_BODY_BYTES = 5 * 1024 * 1024
MAX_WARNINGS = 20
JSON = "application/json"
YAML = "application/yaml"


async def body(request: Request) -> bytes:
    """The whole body. Raises a 413 problem before more than the limit is read."""
    refused = Problem(
        413,
        "RequestEntityTooLarge",
        f"the request is over {MAX_BODY_BYTES} bytes; the spec of one resource may have 1048576 (1 MiB)",
    )
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > MAX_BODY_BYTES:
        raise refused
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise refused
        parts.append(part)
    return b"".join(parts)


async def document(request: Request) -> Any:
    """The body as JSON, or as YAML where its media type says so. Raises a problem."""
    media = media_type(request) or JSON
    if media not in (JSON, YAML):
        raise unsupported_media(media, (JSON, YAML))
    read = yaml_text.loads if media == YAML else strict_json.loads
    return read(await body(request))


def media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def answer(content: Any, status: int = 200, *, warnings: Iterable[str] = ()) -> Response:
    """JSON, with a Warning header for each warning."""
    return _response(dumps(content).encode() + b"\n", status, warnings)


def _response(content: bytes, status: int, warnings: Iterable[str]) -> Response:
    response = Response(content, status, media_type=JSON)
    for text in list(dict.fromkeys(warnings))[:MAX_WARNINGS]:
        response.headers.append("Warning", _warning(text))
    return response


def listed(around: dict[str, Any], items: Iterable[str], *, warnings: Iterable[str] = ()) -> Response:
    """The answer `{**around, "items": items}` whose items are JSON already."""
    text = f'{dumps(around)[:-1]},"items":[{",".join(items)}]}}\n'
    return _response(text.encode(), 200, warnings)


def refusal(problem: Problem) -> Response:
    response = answer(problem.status(), problem.code)
    if problem.code == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if problem.retry_after is not None:
        response.headers["Retry-After"] = str(problem.retry_after)
    return response


def caller(request: Request) -> Caller:
    """Who asks, as the door has found out."""
    found: Caller = request.state.caller
    return found


def problem_of(error: Exception) -> Problem:
    """Every error as a refusal; what nobody expected is a 500 without its details."""
    known = translated(error)
    if known is not None:
        return known
    match error:
        case HTTPException(status_code=404):
            return Problem(404, "NotFound", "there is nothing at this path")
        case HTTPException(status_code=405):
            return Problem(405, "MethodNotAllowed", "this path does not take that method")
        case HTTPException():
            return Problem(error.status_code, "BadRequest", printable(str(error.detail)))
        case TooLarge():
            return Problem(422, "Invalid", str(error))
        case Full():
            return Problem(
                507, "InsufficientStorage", "disk full: nothing can be written until space is freed", retry_after=5
            )
        case Corrupt(ref=ref):
            return Problem(503, "CorruptRow", f"{called(ref)}: {ROTTEN}", ref=ref, hint=way_out(ref))
        case Stopped():
            return Problem(503, "ServiceUnavailable", "this server is stopping", retry_after=1)
        case StoreError():
            return Problem(503, "ServiceUnavailable", str(error), retry_after=1)
        case _:
            return Problem(500, "InternalError", "the server met an error that is not yours; its log says more")


def dumps(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _warning(text: str) -> str:
    plain = printable(text, 400).encode("ascii", "backslashreplace").decode()
    quoted = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{quoted}"'
