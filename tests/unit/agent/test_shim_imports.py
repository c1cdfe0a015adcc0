"""A shim runs without installed libraries, and an agent without the server's."""

from __future__ import annotations

import subprocess
import sys

from agent.launch import INTERPRETER


def test_the_shim_loads_the_standard_library_only():
    code = "import sys; sys.path.append(sys.argv[1]); import agent.shim; print(*sys.modules)"
    told = subprocess.run([*INTERPRETER[:-2], code, INTERPRETER[-1]], capture_output=True, text=True, check=True)
    roots = {name.partition(".")[0] for name in told.stdout.split()}
    assert roots - set(sys.stdlib_module_names) - {"__main__"} == {"agent"}


def test_an_agent_loads_neither_database_nor_models_nor_server():
    code = "import agent.main, sys; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    roots = {name.partition(".")[0] for name in told.stdout.split()}
    assert (
        roots & {"sqlalchemy", "sqlite3", "pydantic", "starlette", "uvicorn", "typer", "store", "controllers"} == set()
    )
