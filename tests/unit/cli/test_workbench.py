"""What an author sees of a pass that runs in their terminal."""

from __future__ import annotations

from typing import Any

from cli.workbench import _tell


def test_a_traceback_stands_line_by_line(capsys: Any) -> None:
    metadata = {"kind": "note", "key": "one", "project": "default", "generation": 2}
    asked = {"do": "reconcile", "resource": {"metadata": metadata}}
    _tell(asked, {"failed": "ZeroDivisionError", "trace": "Traceback:\n  1/0\n\x1b[31mno colours\n"})
    told = capsys.readouterr()
    assert told.err.splitlines() == ["Traceback:", "  1/0", "\\x1b[31mno colours"]
    assert told.out.endswith("generation 2: failed: ZeroDivisionError\n")
