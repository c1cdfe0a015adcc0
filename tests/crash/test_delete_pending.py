"""A server killed anywhere between a create and the delete that overtakes it."""

from __future__ import annotations

from tests.crash.running import killed


def test_a_job_deleted_while_its_start_is_pending_leaves_nothing_behind_wherever_the_server_is_killed() -> None:
    ran = killed("1", "--story", "delete-pending")
    assert ran.returncode == 0, ran.stdout + ran.stderr
