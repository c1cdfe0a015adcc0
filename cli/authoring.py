"""`rmctl init resource-manager`: a kind of one's own, ready to run, with its test and a manifest."""

from __future__ import annotations

from pathlib import Path

from cli.errors import UsageProblem
from cli.kinds import known
from cli.terminal import out, say
from controllers.definitions.discovery import TAKEN
from resources.names import KIND

DEFINITION = '''\
"""A {kind}: a file that says what it should."""

from pathlib import Path

from rmctl import Context, Rejected, Resource, Result, Spec, Status, condition_true, resource_manager

FINALIZER = "{kind}/file"


class {name}Spec(Spec):
    """What people ask."""

    path: str
    text: str = "hello"


class {name}Status(Status):
    """What was last seen. Every field has a default: a new resource begins with these."""

    path: str = ""
    length: int = 0
    writes: int = 0


@resource_manager("{kind}", spec={name}Spec, status={name}Status, watch=lambda resource: [resource.spec.path])
def reconcile(ctx: Context, resource: Resource[{name}Spec, {name}Status]) -> Result:
    """Called again and again: look, do at most one thing, say what is."""
    file, text = Path(resource.spec.path), resource.spec.text
    path, writes = resource.status.path, resource.status.writes

    def as_asked() -> str | None:
        return str(file) if file.is_file() and file.read_bytes() == text.encode() else None

    def write() -> str | Rejected:
        if resource.deleting:
            return Rejected("nobody wants it any more")
        file.write_bytes(text.encode())
        return str(file)

    if not ctx.effects.open:  # else a write was begun, and nobody knows yet how it ended
        if path and (resource.deleting or path != str(file)):
            Path(path).unlink(missing_ok=True)
        if resource.deleting:
            return ctx.settled(finalizers=[])
        if path != str(file):  # on record before anything exists that would have to be cleaned up
            return ctx.requeue({name}Status(path=str(file), writes=writes), finalizers=[FINALIZER])
        if as_asked():
            status = {name}Status(path=path, length=len(text), writes=writes)
            return ctx.settled(status, conditions=[condition_true("Ready", "Written", f"{{file}} says so")])
    ctx.effects.ensure(
        key=f"write:{{writes + 1}}",  # a new key for each write: what was done under a key is not done again
        kind="write-file",
        request={{}},  # whatever the spec says by then
        observe=as_asked,
        apply=write,
    )
    return ctx.requeue({name}Status(path=path, writes=writes + 1))
'''
TEST = '''\
"""What a {kind} promises."""

from pathlib import Path

from rmctl.testing import Trial

DEFINITION = Path(__file__).parent.parent / ".rm" / "resource-managers" / "{kind}.resource_manager.py"


def test_the_file_says_what_it_should(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    with Trial(DEFINITION) as trial:
        trial.apply("one", {{"path": str(file), "text": "hi"}})
        trial.run()
        assert file.read_text() == "hi"
        assert trial.get("one").ready
        assert trial.get("one").status["length"] == 2


def test_a_crash_between_the_deed_and_its_note_repeats_nothing(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    with Trial(DEFINITION) as trial:
        trial.apply("one", {{"path": str(file)}})
        with trial.crash_after("write:1"):
            trial.run()
        assert [effect.state for effect in trial.effects("one")] == ["pending"]
        trial.run_for(60)
        assert [effect.state for effect in trial.effects("one")] == ["applied"]
        assert trial.events("one")[0].startswith("EffectRecovered")


def test_a_file_that_somebody_removed_is_written_again(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    with Trial(DEFINITION) as trial:
        trial.apply("one", {{"path": str(file)}})
        trial.run()
        file.unlink()
        trial.wake("one")  # on a server the watch does it
        trial.run()
        assert file.read_text() == "hello"


def test_another_path_leaves_nothing_at_the_old_one(tmp_path: Path) -> None:
    with Trial(DEFINITION) as trial:
        for name in ("old.txt", "new.txt"):
            trial.apply("one", {{"path": str(tmp_path / name)}})
            trial.run()
        assert [file.name for file in tmp_path.iterdir()] == ["new.txt"]


def test_deleting_it_takes_the_file_away_though_the_write_is_in_doubt(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    with Trial(DEFINITION) as trial:
        trial.apply("one", {{"path": str(file)}})
        with trial.crash_after("write:1"):
            trial.run()
        assert file.exists()
        trial.delete("one")
        trial.run_for(60)
        assert trial.get("one") is None
        assert not file.exists()


def test_a_path_that_cannot_be_is_told_and_need_not_stay(tmp_path: Path) -> None:
    with Trial(DEFINITION) as trial:
        trial.apply("one", {{"path": str(tmp_path / "nowhere" / "out.txt")}})
        trial.run_for(60)
        assert trial.get("one").condition("Ready") == "False/EffectUnknown"
        trial.delete("one")
        trial.run_for(60)
        assert trial.get("one") is None
'''
MANIFEST = """\
apiVersion: rmctl/v1
kind: {kind}
metadata:
  name: one
spec:
  path: {folder}/one.txt
  text: hello
"""


def write(folder: Path, kind: str) -> int:
    """Three files below a folder; none that is there is written over. Raises UsageProblem."""
    if not KIND.fullmatch(kind):
        raise UsageProblem(f'resource-manager "{kind}": must match {KIND.pattern}')
    if known(kind) is not None or kind in TAKEN:
        raise UsageProblem(f"resource-manager {kind}: the kind is rmctl's own")
    words = {"kind": kind, "name": "".join(part.title() for part in kind.split("-")), "folder": str(folder)}
    files = {
        folder / ".rm" / "resource-managers" / f"{kind}.resource_manager.py": DEFINITION,
        folder / "tests" / f"test_{kind.replace('-', '_')}.py": TEST,
        folder / f"{kind}.yaml": MANIFEST,
    }
    there = [path for path in files if path.exists()]
    if there:
        raise UsageProblem(f"{there[0].relative_to(folder)}: is there already")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(**words), encoding="utf-8")
        out(str(path.relative_to(folder)))
    say(f"Next: rmctl server, started in this folder, then rmctl apply -f {kind}.yaml --wait")
    return 0
