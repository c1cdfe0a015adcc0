"""Pull requests over real HTTP: the client against the demo forge, and the whole story through a server."""

from __future__ import annotations

import json
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import uvicorn

from api.forge import Forge, Pull
from controllers.providers.github import GitHub, NotAuthorised, RateLimited, connected
from resources.effect import Absent, Applied, Deferred, Rejected, Unknown
from tests.architecture.tree import ROOT
from tests.cli_runs import Ran
from tests.fleet import Fleet
from tests.git_site import Site

HEAD, OTHER = "a" * 40, "b" * 40
SITE = "acme/site"


class Serving:
    """A forge on loopback."""

    def __init__(self) -> None:
        self.forge = Forge()
        self.forge.pulls[SITE, 12] = Pull(12, HEAD, {"test": "success"}, approvals=("ada",))
        self._door = socket.socket()
        self._door.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._door.getsockname()[1]}"
        config = uvicorn.Config(self.forge.app(), log_config=None, access_log=False, lifespan="off")
        self._server = uvicorn.Server(config)
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.run, args=([self._door],), daemon=True)
        self._thread.start()

    @property
    def pull(self) -> Pull:
        return self.forge.pulls[SITE, 12]

    def end(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._door.close()


@pytest.fixture
def serving() -> Iterator[Serving]:
    made = Serving()
    yield made
    made.end()


def asked(serving: Serving, call: Any) -> Any:
    """What the client says of one call."""

    async def run() -> Any:
        async with connected("a-token", serving.url) as github:
            return await call(github)

    return anyio.run(run)


def merge(github: GitHub) -> Any:
    return github.merge(SITE, 12, HEAD, "squash")


@pytest.mark.req("T38")
def test_a_merge_names_the_head_and_another_head_is_told_apart(serving: Serving) -> None:
    serving.pull.head = OTHER
    refused = asked(serving, merge)
    assert isinstance(refused, Rejected)
    assert (refused.code, serving.pull.merged) == ("HeadChanged", "")
    serving.pull.head = HEAD
    assert asked(serving, merge) == Applied(serving.pull.merged)
    assert asked(serving, lambda github: github.observe_merge(SITE, 12)) == Applied(serving.pull.merged)
    again = asked(serving, merge)
    assert isinstance(again, Rejected)
    assert again.code == "MergeRejected"
    assert [one["sha"] for one in serving.pull.merges] == [HEAD] * 3


@pytest.mark.req("T35")
@pytest.mark.parametrize(
    ("fault", "type_"), [("500", Unknown), ("502", Unknown), ("401", Rejected), ("404", Rejected), ("429", Deferred)]
)
def test_each_answer_is_what_it_means_for_the_deed(serving: Serving, fault: str, type_: type) -> None:
    serving.forge.faults["merge"] = [fault]
    assert isinstance(asked(serving, merge), type_)
    assert asked(serving, lambda github: github.observe_merge(SITE, 12)) == Absent()


def test_a_limit_of_another_sort_says_itself_when_to_ask_again(serving: Serving) -> None:
    """GitHub's secondary limit: 403, though there is much left of the first one."""
    serving.forge.faults["merge"] = ["limited"]
    assert asked(serving, merge) == Deferred("the forge limits how often it is asked; again in 7 s", 7.0)


def test_an_answer_that_was_lost_is_unknown_and_the_merge_is_found(serving: Serving) -> None:
    serving.forge.faults["merge"] = ["lost"]
    assert isinstance(asked(serving, merge), Unknown)
    assert asked(serving, lambda github: github.observe_merge(SITE, 12)) == Applied(serving.pull.merged)


def test_nobody_there_is_certainly_not_merged(serving: Serving) -> None:
    serving.end()
    assert isinstance(asked(serving, merge), Deferred)


def test_what_has_not_changed_costs_nothing_of_the_limit(serving: Serving) -> None:
    def look(github: GitHub) -> Any:
        return github.pull_request(SITE, 12)

    first = asked(serving, look)
    left = serving.forge.remaining
    assert asked(serving, look) == first
    assert (serving.forge.remaining, serving.forge.calls[-1][:3]) == (left, "304")
    serving.forge.remaining = 0
    serving.pull.head = OTHER
    with pytest.raises(RateLimited) as limited:
        asked(serving, look)
    assert 3000 < limited.value.after <= 3600


def test_checks_and_approvals_count_for_this_head_only(serving: Serving) -> None:
    serving.pull.checks = {"a": "success", "b": "failure", "c": "", "d": "skipped"}
    checks = asked(serving, lambda github: github.checks(SITE, HEAD))
    assert (checks.passed, checks.failed, checks.pending) == (("a", "d"), ("b",), ("c",))
    required = asked(serving, lambda github: github.checks(SITE, HEAD, ["a", "missing"]))
    assert (required.passed, required.failed, required.pending) == (("a",), (), ("missing",))
    assert asked(serving, lambda github: github.approvals(SITE, 12, HEAD)) == 1
    assert asked(serving, lambda github: github.approvals(SITE, 12, OTHER)) == 0
    with pytest.raises(NotAuthorised):
        asked(serving, lambda github: github.pull_request("acme/none", 1))


@pytest.fixture
def fleet(serving: Serving) -> Iterator[Fleet]:
    with tempfile.TemporaryDirectory(prefix="rm") as name:
        folder = Path(name)
        (folder / "server.toml").write_text(
            '[definitions]\nloadSeconds = 120\npassEnvironment = ["GITHUB_TOKEN", "GITHUB_API_URL"]\n'
        )
        started = Fleet(folder)
        started.cwd = folder
        started.environment |= {
            "PYTHONPATH": str(ROOT),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "GITHUB_API_URL": serving.url,
            "GITHUB_TOKEN": "sentinel-credential",
        }
        yield started
        started.end()


@pytest.mark.req("CA1", "T57")
def test_a_pull_request_goes_from_red_checks_to_merged(serving: Serving, fleet: Fleet) -> None:
    """The answer of its merge is lost on the way, and its credential is written down nowhere."""
    serving.pull.checks, serving.pull.mends = {"build": "success", "test": "failure"}, ("test",)
    serving.forge.faults["merge"] = ["lost"]
    fleet.server("--config", str(fleet.folder / "server.toml"))
    spec = {"repository": SITE, "number": 12, "expectedHeadSha": HEAD, "pollSeconds": 1}
    document = {"apiVersion": "rmctl/v1", "kind": "pull-request", "metadata": {"key": "acme/site#12"}, "spec": spec}
    applied = fleet.rmctl("apply", "-f", "-", "--wait", "--timeout", "300s", stdin=json.dumps(document))
    assert applied.code == 0, applied.err
    assert [one["sha"] for one in serving.pull.merges] == [HEAD]
    told = fleet.rmctl("describe", "pull-request", "acme/site#12")
    assert told.out.startswith(f"pull-request/acme/site#12 is merged as {serving.pull.merged[:12]}")
    assert "repair-pull-request" in told.out
    assert "EffectRecovered" in told.out
    for path in (*fleet.folder.glob("*.db*"), *fleet.folder.glob("*.log")):
        assert b"sentinel-credential" not in path.read_bytes()
    events = fleet.rmctl("events", "-o", "json").out + fleet.rmctl("get", "effects", "-o", "json").out
    assert "sentinel-credential" not in events


REVIEW = """\
from pathlib import Path

from rmctl import workflow


@workflow("read-it")
def read(ctx, given):
    page = ctx.step("read", lambda: (Path(given["worktree"]) / "page.txt").read_text())
    return {"approved": page == "mended"}
"""


def test_a_review_reads_the_head_in_a_worktree_and_only_what_it_agrees_with_is_merged(
    serving: Serving, fleet: Fleet
) -> None:
    """Through a server, its runners and a workflow's process, with a real git."""
    site = Site(fleet.folder / "git")
    workflows = fleet.folder / ".rm" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "read-it.workflow.py").write_text(REVIEW)
    fleet.server("--config", str(fleet.folder / "server.toml"))

    def applied(text: str) -> Ran:
        serving.pull.head = site.push(12, text)
        spec = {"repository": SITE, "number": 12, "expectedHeadSha": serving.pull.head, "pollSeconds": 1}
        spec |= {"review": "read-it", "checkout": str(site.clone)}
        document = {"apiVersion": "rmctl/v1", "kind": "pull-request", "metadata": {"key": "acme/site#12"}, "spec": spec}
        return fleet.rmctl("apply", "-f", "-", "--wait", "--timeout", "300s", stdin=json.dumps(document))

    refused = applied("broken")
    assert "read-it said no: it did not say why" in refused.err + refused.out
    assert len(site.worktrees) == 1
    agreed = applied("mended")
    assert agreed.code == 0, agreed.err
    assert [one["sha"] for one in serving.pull.merges] == [serving.pull.head]
    gone = fleet.rmctl("wait", "pull-request/acme/site#12", "--for", "condition=WorktreeRemoved", "--timeout", "300s")
    assert gone.code == 0, gone.err
    assert site.worktrees == []
    for path in (*fleet.folder.glob("*.db*"), *fleet.folder.glob("*.log"), site.clone / ".git" / "config"):
        assert b"sentinel-credential" not in path.read_bytes()


def test_the_demo_forge_stays_on_this_machine(fleet: Fleet) -> None:
    refused = fleet.rmctl("dev", "forge", "--listen", "0.0.0.0:0")
    assert (refused.code, "expected 127.0.0.1:PORT" in refused.err) == (2, True)
    forge = fleet._started("dev", "forge", "--listen", "127.0.0.1:0")
    assert forge.line.startswith("rmctl forge ready  http://127.0.0.1:")
    url = forge.line.split()[3]
    found = httpx.get(f"{url}/repos/acme/site/pulls/12", timeout=60).json()
    assert (found["state"], found["merged"]) == ("open", False)
