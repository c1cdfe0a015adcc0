"""What a verb works with: the server it speaks to, the project, and the output that was asked for."""

from __future__ import annotations

import os
import time
from functools import cached_property
from typing import TYPE_CHECKING

from cli import messages
from cli.address import Address, default_address, parse_address
from cli.contexts import ENVIRONMENT, Context, find_context
from cli.errors import UsageProblem
from cli.flags import Flags
from cli.kinds import KindName, kind_named
from resources.names import label_problem

if TYPE_CHECKING:
    from cli.client import Client

DEFAULT_PROJECT = "default"


class Session:
    """One call of rmctl. Nothing is opened before it is asked for."""

    def __init__(self, flags: Flags) -> None:
        self.flags = flags

    @cached_property
    def context(self) -> Context:
        return find_context(self.flags.context)

    @cached_property
    def address(self) -> Address:
        """The flag, the environment, the context, else the default socket. A context named by flag leads."""
        named = self.flags.server
        if named is None and self.flags.context is None:
            named = os.environ.get("RMCTL_SERVER")
        named = named or self.context.server
        return parse_address(named) if named else default_address()

    @cached_property
    def project(self) -> str:
        found = self.asked_project or DEFAULT_PROJECT
        problem = label_problem(found)
        if problem:
            raise UsageProblem(messages.BAD_NAME.format(kind="project", name=found, problem=problem))
        return found

    @property
    def asked_project(self) -> str | None:
        """None when neither flag nor context names one."""
        return self.flags.project or self.context.project

    @cached_property
    def client(self) -> Client:
        from cli.client import Access, Client

        kept = self.context if self._is_of_context() else Context()
        own = {key: os.environ.get(name) or getattr(kept, key) for key, name in ENVIRONMENT.items()}
        return Client(self.address, Access(**own))

    def _is_of_context(self) -> bool:
        """What the current context holds for its server is shown to no other one, unless the call names both."""
        named = self.context.server
        return self.flags.context is not None or (bool(named) and parse_address(str(named)) == self.address)

    def kind(self, word: str) -> KindName:
        return kind_named(word, self.client)

    def now(self) -> float:
        """Unix seconds, for ages."""
        return time.time()

    def output(self, *allowed: str) -> str:
        """What `-o` says: empty, or one of the allowed (`jsonpath` with its expression). Raises UsageProblem."""
        text = self.flags.output or ""
        if text and not allowed:
            raise UsageProblem(messages.NO_OUTPUT.format(text=text))
        if text and text.partition("=")[0] not in allowed:
            raise UsageProblem(messages.OUTPUT.format(text=text, allowed=", ".join(allowed)))
        if text == "jsonpath":
            raise UsageProblem("-o jsonpath=EXPRESSION, for example -o jsonpath={.status.pid}")
        return text
