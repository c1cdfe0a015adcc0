"""Runner processes: reused, bounded, ended with all they started; what one does costs its own key only."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from controllers.definitions.pool import Pool
from controllers.definitions.processes import Limits, reap
from store import queue, resources
from tests.definition_house import HEAD, House, a_house, gone


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path) as opened:
        yield opened


@pytest.mark.req("T50")
def test_a_runner_serves_pass_after_pass_until_the_file_changes(house: House) -> None:
    path = house.put("gadget")
    one, two = house.create("gadget", "one"), house.create("gadget", "two")
    assert house.run(most=5) == 2
    assert house.pid(one) == house.pid(two) != os.getpid()
    first = house.pid(one)
    path.write_text(path.read_text() + "\n# changed\n")
    house.wake(one)
    house.run()
    assert house.pid(one) != first
    assert gone(first)


@pytest.mark.req("T49")
def test_a_runner_leads_a_group_of_its_own_and_sees_little_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "sentinel-secret")
    monkeypatch.setenv("GREETING", "hello")
    body = """Path(resource.spec.folder, "seen").write_text(
        f"{os.getpgid(0) == os.getpid()} {os.environ.get('GREETING')} {sorted(os.environ)} {sys.flags.safe_path}"
    )"""
    with a_house(tmp_path, limits=Limits(load_seconds=60, pass_on=("GREETING",))) as house:
        house.put("gadget", body)
        house.create("gadget", "g", {"folder": str(tmp_path)})
        house.run()
    seen = (tmp_path / "seen").read_text()
    assert seen.startswith("True hello ")
    assert seen.endswith(" True")
    assert "AWS_SECRET_ACCESS_KEY" not in seen


@pytest.mark.req("T18", "T49")
def test_the_runner_is_never_told_the_claims_token(tmp_path: Path) -> None:
    """What it is sent is written down by the definition itself, from the stack of its own process."""
    body = """
    frame, found = sys._getframe(), []
    while frame:
        found.append(repr(frame.f_locals))
        frame = frame.f_back
    Path(resource.spec.folder, "seen").write_text("".join(found))
    """
    with a_house(tmp_path) as house:
        tokens: list[str] = []
        issue = house.environment.token
        house.environment.token = lambda: tokens.append(issue()) or tokens[-1]  # type: ignore[func-returns-value,method-assign]
        house.put("gadget", body)
        house.create("gadget", "g", {"folder": str(tmp_path)})
        house.run()
    seen = (tmp_path / "seen").read_text()
    assert tokens
    assert "'generation': 1" in seen
    assert not [token for token in tokens if token in seen]


@pytest.mark.req("CM8", "T49")
@pytest.mark.parametrize(
    "head",
    [
        "",
        """
import asyncio

@resource_manager("slow", spec=TheSpec, status=TheStatus, deadline=1)
async def reconcile(ctx, resource):
    try:
        await asyncio.sleep(3600)
    finally:
        Path(resource.spec.folder, "cleaned").write_text("yes")
""",
    ],
    ids=["plain", "async"],
)
def test_a_pass_that_heeds_its_deadline_ends_cleanly(house: House, tmp_path: Path, head: str) -> None:
    body = """
    try:
        time.sleep(3600)
    finally:
        Path(resource.spec.folder, "cleaned").write_text("yes")
    """
    path = house.put("slow", body, deadline=1)
    if head:
        path.write_text(HEAD + head)
    ref = house.create("slow", "s", {"folder": str(tmp_path)})
    house.run()
    assert (tmp_path / "cleaned").read_text() == "yes"
    line = next(number for number, text in enumerate(path.read_text().splitlines(), 1) if "sleep(3600)" in text)
    told = f"no result after 1 s, at slow.resource_manager.py:{line}: the runner was ended"
    assert house.events(ref) == [f"ReconcileFailed: {told}"]
    assert house.errors(ref) == 1


@pytest.mark.req("CM9", "T49")
def test_a_pass_that_ignores_its_deadline_is_killed_with_all_it_started(house: House, tmp_path: Path) -> None:
    body = """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "3600"], preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
    Path(resource.spec.folder, "pids").write_text(f"{os.getpid()} {child.pid}")
    while True:
        try:
            time.sleep(3600)
        except BaseException:
            pass
    """
    house.put("deaf", body, deadline=1)
    ref = house.create("deaf", "d", {"folder": str(tmp_path)})
    house.run()
    started = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    while not all(map(gone, started)):  # SIGKILL is on its way to all of the group, to each by itself
        pass
    assert house.errors(ref) == 1
    assert not list((tmp_path / "data" / "runners").iterdir())


HOSTILE = {
    "exits in mid-pass": ("os._exit(7)", "the runner exited with 7"),
    "calls sys.exit": ("sys.exit(3)", "the definition called sys.exit(3)"),
    "kills itself": ("os.kill(os.getpid(), signal.SIGKILL)", "the runner was killed by signal 9"),
    "raises": ("raise RuntimeError('no')", "RuntimeError: no (bad.resource_manager.py:"),
    "returns nonsense": ("return 7", "reconcile returned int"),
    "takes all memory": ("x = bytearray(64 << 30)", "out of memory"),
    "recurses": ("f = lambda: f()\n    f()", "RecursionError"),
    "never ends": ("while True: pass", "no result after 2 s, at bad.resource_manager.py:"),
    "says too much": (
        "return ctx.settled({'pid': 1}, conditions=[condition_true('Ready', 'x', 'm' * (9 << 20))])",
        "the runner was ended: it said a message of more than 8388608 bytes",
    ),
    "says what is no text": (
        "return ctx.settled(conditions=[condition_true('Ready', 'x', chr(0xd800))])",
        "UnicodeEncodeError",
    ),
    "raises what cannot be printed": (
        "class E(Exception):\n        __str__ = lambda self: 1 / 0\n    raise E()",
        "E: its text cannot be had: ZeroDivisionError (bad.resource_manager.py:",
    ),
    "kills its group": ("os.killpg(0, signal.SIGKILL)", "the runner was killed by signal 9"),
    "reads its input": ("input('yes? ')", "EOFError: EOF when reading a line (bad.resource_manager.py:"),
    "forgets where it is": ("os.chdir('/'); sys.path.clear(); sys.modules.clear(); 1 / 0", "ZeroDivisionError"),
    "closes every file": ("os.closerange(0, 4096)", "the runner "),
    "writes to the line": (
        "os.write(max(int(n) for n in os.listdir('/proc/self/fd') if n > '2'), b'x')\n    raise ValueError('no')",
        "",
    ),
}


@pytest.mark.req("T49", "T23")
@pytest.mark.parametrize("what", HOSTILE)
def test_whatever_a_definition_does_costs_its_own_key_only(house: House, what: str) -> None:
    body, told = HOSTILE[what]
    house.put("bad", body, deadline=2)
    house.put("good")
    bad = house.create("bad", "b")
    house.run()
    good = house.create("good", "g")
    house.run()
    assert told in house.events(bad)[0]
    assert house.errors(bad) == 1
    assert house.ready(good) == "True/Fine"


@pytest.mark.req("T49")
def test_a_definition_that_forks_speaks_once_and_its_children_end_with_it(house: House, tmp_path: Path) -> None:
    body = """
    for _ in range(5):
        if os.fork() == 0:
            with open(Path(resource.spec.folder, "children"), "a") as file:
                file.write(f"{os.getpid()}\\n")
            if _ % 2:
                time.sleep(3600)
            return ready(ctx, resource)
    while len(Path(resource.spec.folder, "children").read_text().split()) < 5:
        time.sleep(0.01)
    """
    (tmp_path / "children").write_text("")
    house.put("forks", body)
    ref = house.create("forks", "f", {"folder": str(tmp_path)})
    house.run()
    assert house.ready(ref) == "True/Fine"
    runner = house.pid(ref)
    house.host.passes.stop()
    children = [int(pid) for pid in (tmp_path / "children").read_text().split()]
    assert len(children) == 5
    assert gone(runner)
    alive = [psutil.Process(pid) for pid in children if psutil.pid_exists(pid)]
    assert psutil.wait_procs(alive, timeout=60)[1] == []


@pytest.mark.req("T49")
def test_a_thread_that_outlives_its_pass_makes_no_effect_of_another_resource(house: House) -> None:
    """It asks in the name of its own pass, while the runner stands ready, and while it is at another pass."""
    body = """
    def late():
        for _ in range(200):
            try:
                ctx.effects.ensure(key="late", kind="k", request={}, observe=lambda: None, apply=lambda: "r")
            except Exception:
                time.sleep(0.005)
    if resource.key == "worker":
        threading.Thread(target=late, daemon=True).start()
        return ctx.settled()
    time.sleep(0.1)
    """
    house.put("thr", body)
    worker, well = house.create("thr", "worker"), house.create("thr", "well")
    assert house.run(most=2) == 2
    assert (house.ready(well), house.effects(well)) == ("True/Fine", [])
    house.wake(well)
    house.wake(worker)
    house.run(most=2)
    assert (house.ready(well), house.effects(well), house.errors(well)) == ("True/Fine", [], 0)


def test_a_runner_that_says_what_nobody_asked_is_not_used_again(house: House) -> None:
    spam = """
    if resource.key == "spam":
        for number in range(3, 64):
            try:
                os.write(number, b'{"proposals": []}\\n')
            except OSError:
                pass
    """
    house.put("sock", spam)
    house.create("sock", "spam")
    house.run()
    well = house.create("sock", "well", {"size": 7})
    house.run()
    assert (house.ready(well), house.get(well).status.own["size"]) == ("True/Fine", 7)


@pytest.mark.req("T49")
def test_what_a_definition_prints_is_read_and_only_the_last_of_it_kept(house: House) -> None:
    house.put(
        "loud", "[sys.stdout.write('x' * 1_000_000 + '\\n') for _ in range(200)]\n    os.write(1, b'last words\\n')"
    )
    ref = house.create("loud", "l")
    house.run()
    assert house.ready(ref) == "True/Fine"
    house.put(
        "loud",
        "[os.write(2, b'y' * 1_000_000) for _ in range(20)]\n    os.write(2, b'\\nlast words\\n')\n    os._exit(1)",
    )
    house.wake(ref)
    house.run()
    assert house.events(ref)[0] == "ReconcileFailed: the runner exited with 1: last words"


@pytest.mark.req("T49")
@pytest.mark.parametrize(
    ("text", "told", "seconds"),
    [
        ("while True: pass", "not loaded after 1 s", 1),
        ("import os; os._exit(3)", "the process ended while it was loaded", 60),
        ("x = bytearray(64 << 30)", "out of memory", 60),
    ],
    ids=["imports for ever", "exits", "takes all memory"],
)
def test_a_file_that_cannot_be_loaded_stalls_its_own_resources(
    tmp_path: Path, text: str, told: str, seconds: float
) -> None:
    with a_house(tmp_path, limits=Limits(load_seconds=seconds, grace_seconds=0.5)) as house:
        house.put("bad")
        (house.files / "bad.resource_manager.py").write_text(text)
        bad = house.create("bad", "b")
        house.run()
        assert house.ready(bad) == "False/DefinitionUnusable"
        stalled = next(one for one in house.get(bad).status.conditions if one.type == "Stalled")
        assert told in stalled.message


@pytest.mark.req("T49")
def test_a_file_that_could_not_be_loaded_is_not_tried_again_at_once_nor_for_each_of_its_resources(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.put("bad").write_text("def (")
    tried: list[str] = []
    started = Pool._started
    monkeypatch.setattr(
        Pool, "_started", lambda pool, path, digest: tried.append(digest) or started(pool, path, digest)
    )
    refs = [house.create("bad", name) for name in "abc"]
    assert house.run(most=3) == 3
    assert [house.ready(ref) for ref in refs] == ["False/DefinitionUnusable"] * 3
    assert len(tried) == 1
    house.put("bad")
    house.wake(refs[0])
    house.run()
    assert house.ready(refs[0]) == "True/Fine"


@pytest.mark.req("T49", "T27")
def test_passes_that_never_come_back_leave_runners_to_the_other_kinds(house: House, tmp_path: Path) -> None:
    """As many of one kind as there are workers, and more: the other kind does not wait for any deadline."""
    house.put("deaf", "Path(resource.spec.folder, str(os.getpid())).touch(); time.sleep(3600)")
    house.put("good")
    began = tmp_path / "began"
    began.mkdir()
    for number in range(6):
        house.create("deaf", f"d{number}", {"folder": str(began)})
    house.host.passes.start()
    while len(list(began.iterdir())) < 3:
        pass
    good = house.create("good", "g")
    while house.ready(good) != "True/Fine":
        pass
    assert len(list(began.iterdir())) == 3


@pytest.mark.req("T51")
def test_a_runner_of_a_dead_server_is_ended_and_a_stranger_with_its_number_is_not(tmp_path: Path) -> None:
    ours, stranger = (
        psutil.Popen(["sleep", "3600"], start_new_session=True),
        psutil.Popen(["sleep", "3600"], start_new_session=True),
    )
    notes = tmp_path / "runners"
    notes.mkdir()
    (notes / str(ours.pid)).write_text(repr(ours.create_time()))
    (notes / str(stranger.pid)).write_text(repr(stranger.create_time() - 1))
    (notes / "999999999").write_text("1.0")
    (notes / "junk").write_text("")
    assert reap(notes) == 1
    assert ours.wait(60) == -signal.SIGKILL
    assert stranger.poll() is None
    assert list(notes.iterdir()) == []
    stranger.kill()
    stranger.wait()


@pytest.mark.req("T51")
def test_a_runner_notices_that_its_server_is_gone(house: House, tmp_path: Path) -> None:
    house.put("gadget")
    ref = house.create("gadget", "g")
    house.run()
    runner = psutil.Process(house.pid(ref))
    (note,) = (tmp_path / "data" / "runners").iterdir()
    assert (int(note.name), float(note.read_text())) == (runner.pid, runner.create_time())
    house.host._pool._idle[0].channel.close()
    assert psutil.wait_procs([runner], timeout=60)[1] == []


@pytest.mark.req("T23")
def test_a_server_that_stops_gives_the_claim_back_and_counts_nothing(house: House, tmp_path: Path) -> None:
    house.put("slow", "Path(resource.spec.folder, 'begun').touch(); time.sleep(3600)")
    ref = house.create("slow", "s", {"folder": str(tmp_path)})
    house.host.passes.start()
    while not (tmp_path / "begun").exists():
        pass
    house.host.passes.stop(timeout=120)
    assert (house.errors(ref), house.events(ref)) == (0, [])
    with house.store.read() as tx:
        (row,) = queue.list_all(tx)
    assert row.expires_at is None
    assert row.available_at <= house.environment.now()
    assert house.run() == 0


@pytest.mark.req("T23")
def test_a_server_that_stops_while_a_file_is_loaded_blames_nobody(house: House, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    house.put("slow", head=f"Path({str(begun)!r}).touch(); time.sleep(3600)")
    ref = house.create("slow", "s")
    house.host.passes.start()
    while not begun.exists():
        pass
    house.host.passes.stop(timeout=120)
    assert (house.errors(ref), house.events(ref), house.ready(ref)) == (0, [], "")


@pytest.mark.req("T57", "S19")
def test_what_a_definition_was_trusted_with_stands_nowhere_though_it_tells_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = 'sentinel-"quoted"-credential'
    monkeypatch.setenv("THE_TOKEN", secret)
    monkeypatch.setenv("SHORT", "ef")
    body = """
    token = os.environ["THE_TOKEN"]
    print(token, flush=True)
    ctx.event("Leaked", f"the token is {token}")
    ctx.effects.ensure(key="k", kind="make", request={"as": token}, observe=lambda: None, apply=lambda: token)
    if resource.metadata.generation == 2:
        raise ValueError(token)
    if resource.metadata.generation == 3:
        os._exit(1)
    return ctx.settled({"size": 1}, conditions=[condition_true("Ready", "Fine", f"efficient {token}")])
    """
    limits = Limits(load_seconds=60, grace_seconds=0.5, pass_on=("THE_TOKEN", "SHORT"))
    with a_house(tmp_path, limits=limits) as house:
        house.put("leaky", body)
        ref = house.create("leaky", "l")
        house.run(most=5)
        told = house.get(ref).status.conditions[0].message
        assert told == "efficient ***"
        for generation in (2, 3):
            house.store.write(
                lambda tx, size=generation: resources.replace(tx, resources.get(tx, ref), document={"size": size})
            )
            while house.run() == 0:
                pass
        assert any("ValueError: ***" in one for one in house.events(ref))
        assert any("the runner exited with 1: ***" in one for one in house.events(ref))
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if b"sentinel" in path.read_bytes()]


@pytest.mark.req("CM6")
def test_a_host_that_is_started_and_stopped_twice_works_once(house: House) -> None:
    house.put("gadget")
    ref = house.create("gadget", "g")
    house.host.start()
    house.host.start()
    while house.ready(ref) != "True/Fine":
        pass
    house.host.stop()
    house.host.stop()
    assert gone(house.pid(ref))
    assert house.errors(ref) == 0


@pytest.mark.req("T37")
def test_an_effect_whose_runner_dies_before_its_receipt_is_observed_by_the_next_one(
    house: House, tmp_path: Path
) -> None:
    body = """
    done = Path(resource.spec.folder, "done")
    def apply():
        done.write_text(done.read_text() + "x" if done.exists() else "x")
        if not Path(resource.spec.folder, "spared").exists():
            os._exit(9)
        return "ref"
    seen = lambda: "found" if done.exists() else None
    ctx.effects.ensure(key="k", kind="make", request={}, observe=seen, apply=apply)
    """
    house.put("frail", body)
    ref = house.create("frail", "f", {"folder": str(tmp_path)})
    house.run()
    assert house.effects(ref) == [("k", "pending", 1)]
    (tmp_path / "spared").touch()
    house.wake(ref)
    while house.run() == 0:
        pass
    assert house.effects(ref) == [("k", "applied", 2)]
    assert (tmp_path / "done").read_text() == "x"
    assert house.ready(ref) == "True/Fine"
