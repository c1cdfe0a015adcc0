"""One command beside a job: in its folder, with its environment, and its output sent back whole."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass, field

import anyio
from anyio import to_thread

from agent.life import Life
from api.proto import agent_pb2 as wire

OUTPUT_BYTES = 512 * 1024
"""Of each of the two streams; what comes after it is read and dropped."""
LONGEST_SECONDS = 600.0
NOT_RUN = 126
PART_BYTES = 65536


@dataclass
class _Sink:
    """The first bytes of a stream."""

    data: bytearray = field(default_factory=bytearray)
    cut: bool = False

    def fill(self, stream: int) -> None:
        while part := os.read(stream, PART_BYTES):
            room = OUTPUT_BYTES - len(self.data)
            self.data += part[:room]
            self.cut = self.cut or len(part) > room


async def execute(life: Life, order: wire.Exec) -> wire.Executed:
    """Ends with the command, or when its time is up; whatever it has started in its session ends with it."""
    seconds = min(max(order.timeout_seconds, 0.1), LONGEST_SECONDS)
    try:
        process = await to_thread.run_sync(_spawn, life, tuple(order.argv))
    except (OSError, ValueError) as error:
        words = f"{order.argv[0]}: {getattr(error, 'strerror', None) or error}\n"
        return wire.Executed(code=NOT_RUN, error=words.encode())
    sinks = (_Sink(), _Sink())
    late = False
    try:
        with anyio.move_on_after(seconds) as limit:
            await to_thread.run_sync(_finish, process, order.input, sinks, abandon_on_cancel=True)
        late = limit.cancelled_caught
    finally:
        _end(process)
    code = process.wait()
    output, error_output = (life.mask.over(bytes(sink.data)) for sink in sinks)
    return wire.Executed(
        code=max(code, 0),
        signal=max(-code, 0),
        output=output,
        error=error_output,
        truncated=any(sink.cut for sink in sinks),
        timed_out=late,
    )


def _spawn(life: Life, argv: tuple[str, ...]) -> subprocess.Popen[bytes]:
    around = life.around
    pipe = subprocess.PIPE
    return subprocess.Popen(
        argv,
        env=dict(around.env),
        cwd=around.folder,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        start_new_session=True,
    )


def _finish(process: subprocess.Popen[bytes], given: bytes, sinks: tuple[_Sink, _Sink]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    readers = [
        threading.Thread(target=sink.fill, args=(stream.fileno(),), daemon=True)
        for sink, stream in zip(sinks, (process.stdout, process.stderr), strict=True)
    ]
    for reader in readers:
        reader.start()
    with suppress(BrokenPipeError):
        process.stdin.write(given)
        process.stdin.close()
    for reader in readers:
        reader.join()
    process.wait()


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
