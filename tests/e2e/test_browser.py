"""The pages in a real browser, over `rmctl open`: they draw themselves, light and dark, and nothing is refused."""

from __future__ import annotations

import subprocess
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.test_kubectl import a_bundle
from tests.fleet import COMMAND, Fleet, a_fleet

SIZE = (1000, 800)
BROWSER = (
    "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--enable-logging=stderr",
)  # fmt: skip
LIGHT, DARK = 1, 0
TWO_REFRESHES = 5000


class Seen(NamedTuple):
    """`complaints` are what the browser's console says."""

    text: str
    complaints: list[str]


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    import json

    with a_fleet() as found:
        found.server()
        found.agent("node-w", "--capacity", "4", "--address", "127.0.0.1")
        bundle = found.rmctl("apply", "-f", "-", "--wait", "--timeout", "60s", stdin=json.dumps(a_bundle("seen")))
        assert bundle.code == 0, bundle.err
        yield found


@contextmanager
def opened(fleet: Fleet, *words: str) -> Iterator[str]:
    """The address that `rmctl open` prints, while its proxy runs."""
    line = [*COMMAND, "open", "--print", *words]
    with subprocess.Popen(line, env=fleet.environment, stdout=subprocess.PIPE, text=True) as proxy:
        assert proxy.stdout is not None
        try:
            yield proxy.stdout.readline().strip()
        finally:
            proxy.terminate()


def browse(address: str, *flags: str) -> Seen:
    """One visit with a profile of its own."""
    with tempfile.TemporaryDirectory(prefix="rmctl-browser-") as profile:
        ran = subprocess.run(
            [*BROWSER, f"--user-data-dir={profile}", *flags, address], capture_output=True, text=True, check=False
        )
    assert ran.returncode == 0, ran.stderr
    return Seen(ran.stdout, [line for line in ran.stderr.splitlines() if "CONSOLE" in line])


class Picture(NamedTuple):
    """`corner` is the first pixel; `inked` the share of bytes that differ from their neighbours."""

    size: tuple[int, int]
    corner: tuple[int, int, int]
    inked: float


def picture(path: Path) -> Picture:
    """Reads as much of a PNG as the tests look at: every row's filter leaves the first pixel as it is."""
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, packed = 8, b""
    while at < len(data):
        length, name = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + length]
        if name == b"IHDR":
            size = (int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big"))
            assert (body[8], body[9] in (2, 6), body[12]) == (8, True, 0)
        packed += body if name == b"IDAT" else b""
        at += 12 + length
    raw = zlib.decompress(packed)
    return Picture(size, (raw[1], raw[2], raw[3]), 1 - raw.count(0) / len(raw))


@pytest.mark.parametrize(("scheme", "paper"), [(LIGHT, (251, 251, 250)), (DARK, (22, 25, 28))])
def test_the_overview_is_drawn_in_light_and_in_dark(fleet, tmp_path, scheme, paper):
    shot = tmp_path / "overview.png"
    flags = (
        f"--screenshot={shot}",
        f"--window-size={SIZE[0]},{SIZE[1]}",
        f"--blink-settings=preferredColorScheme={scheme}",
    )
    with opened(fleet) as address:
        assert browse(address, *flags).complaints == []
    drawn = picture(shot)
    assert (drawn.size, drawn.corner, drawn.inked > 0.01) == (SIZE, paper, True)


def test_the_page_refreshes_itself_and_its_policy_stops_nothing_of_its_own(fleet):
    with opened(fleet) as address:
        seen = browse(address, "--dump-dom", f"--virtual-time-budget={TWO_REFRESHES}")
    assert seen.complaints == []
    assert ('<a href="/ui/bundle/seen">bundle/seen</a>' in seen.text, "not connected" in seen.text) == (True, False)
    assert 'class="bar"' in seen.text
    assert (
        "<title>seen/primary/web: " in seen.text,
        '<a href="/ui/job/seen.primary.web">seen/primary/web</a>' in seen.text,
    ) == (
        True,
        True,
    )


def test_a_page_of_a_resource_opens_by_its_name(fleet):
    with opened(fleet, "job/seen/primary/web") as address:
        seen = browse(address, "--dump-dom")
    assert seen.complaints == []
    assert "<h1>job/seen/primary/web</h1>" in seen.text
    assert "job/seen/primary/web runs on node-w" in seen.text


def test_the_console_would_have_told(tmp_path):
    """The proof that silence means something: a page that breaks its own policy is heard."""
    page = tmp_path / "page.html"
    policy = "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'\">"
    page.write_text(f"<!doctype html>{policy}<script>1</script>")
    assert browse(page.as_uri(), "--dump-dom").complaints
