"""`rmctl init resource-manager`: a kind of one's own, ready to run, with its test and a manifest."""

from __future__ import annotations

from pathlib import Path

from cli.errors import UsageProblem
from cli.kinds import known
from cli.terminal import out, say
from resources.names import KIND

DEFINITION = '''\
"""A {kind}: a file that says what it should."""

from pathlib import Path

from rmctl import Context, Resource, Result, Spec, Status, condition_true, resource_manager

FINALIZER = "{kind}/file"


class {name}Spec(Spec):
    """What people ask."""

    path: str
    text: str = "hello"


class {name}Status(Status):
    """What was last seen."""

    length: int = 0


@resource_manager("{kind}", spec={name}Spec, status={name}Status)
def reconcile(ctx: Context, resource: Resource[{name}Spec, {name}Status]) -> Result:
    """Called again and again: look, do at most one thing, say what is."""
    file, text = Path(resource.spec.path), resource.spec.text
    if resource.deleting:
        file.unlink(missing_ok=True)
        return ctx.settled(finalizers=[])
    if FINALIZER not in resource.metadata.finalizers:  # before anything exists that would have to be cleaned up
        return ctx.requeue(finalizers=[FINALIZER])

    def as_asked() -> str | None:
        return str(file) if file.exists() and file.read_text() == text else None

    def write() -> str:
        file.write_text(text)
        return str(file)

    ctx.effects.ensure(
        key=f"write:{{resource.metadata.generation}}",
        kind="write-file",
        request={{"path": str(file), "text": text}},
        observe=as_asked,
        apply=write,
    )
    ready = condition_true("Ready", "Written", f"{{file}} says so")
    return ctx.settled({name}Status(length=len(text)), conditions=[ready])
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


def test_deleting_it_takes_the_file_away(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    with Trial(DEFINITION) as trial:
        trial.apply("one", {{"path": str(file)}})
        trial.run()
        trial.delete("one")
        trial.run()
        assert trial.get("one") is None
        assert not file.exists()
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
    if known(kind) is not None:
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
