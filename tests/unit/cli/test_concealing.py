"""What a debug bundle shows of a resource whose kind a file defines."""

from __future__ import annotations

from typing import Any

from pydantic import SecretStr

from api.http.openapi_defined import schemas
from cli.concealing import Concealer
from cli.models import Models
from resources.shape import Shape
from rmctl import Spec, Status


class Login(Spec):
    user: str = ""
    pass_phrase: SecretStr = SecretStr("")


class GadgetSpec(Spec):
    size: int = 1
    login: Login | None = None
    others: list[Login] = []  # noqa: RUF012  pydantic copies it
    by_host: dict[str, SecretStr] = {}  # noqa: RUF012  as above
    more: dict[str, Any] = {}  # noqa: RUF012  as above


class GadgetStatus(Status):
    seen: str = ""
    session: SecretStr | None = None


def a_concealer() -> Concealer:
    parts = {part: model.model_json_schema() for part, model in (("spec", GadgetSpec), ("status", GadgetStatus))}
    return Concealer("gadget", Models(schemas(Shape("gadget", "d", parts))))


CONDITIONS = [{"type": "Ready", "status": "True", "reason": "Fine", "message": "runs"}]


def test_what_the_models_call_a_secret_is_taken_out_at_any_depth() -> None:
    concealer = a_concealer()
    spec = {
        "size": 2,
        "login": {"user": "ana", "pass_phrase": "one"},
        "others": [{"user": "bo", "passPhrase": "two"}],
        "byHost": {"a": "three"},
        "more": {"port": 1},
    }
    status = {"seen": "x", "session": "four", "conditions": CONDITIONS, "observedGeneration": 1}
    assert concealer.shown({"kind": "gadget", "spec": spec, "status": status}) == {
        "kind": "gadget",
        "spec": {
            "size": 2,
            "login": {"user": "ana", "pass_phrase": "***"},
            "others": [{"user": "bo", "passPhrase": "***"}],
            "byHost": {"a": "***"},
            "more": {"port": 1},
        },
        "status": {**status, "session": "***"},
    }
    assert concealer.taken == {"one", "two", "three", "four"}


def test_what_is_named_like_a_secret_or_what_no_model_tells_of_is_taken_out() -> None:
    spec = {"more": {"apiKey": "k", "tokens": ["t", 7], "port": 1}, "gone": {"left": "behind"}}
    assert a_concealer().shown({"spec": spec}) == {
        "spec": {"more": {"apiKey": "***", "tokens": ["***", "***"], "port": 1}, "gone": {"left": "***"}}
    }


def test_where_nobody_can_say_what_the_fields_are_their_values_go() -> None:
    shown = Concealer("gadget", None).shown(
        {"spec": {"a": "b", "c": [1]}, "status": {"d": "e", "conditions": CONDITIONS}}
    )
    assert shown == {"spec": {"a": "***", "c": ["***"]}, "status": {"d": "***", "conditions": CONDITIONS}}
