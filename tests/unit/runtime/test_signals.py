"""Gates: set once, seen by all, closed again by who waits."""

from __future__ import annotations

import threading

from controllers.runtime.signals import Gate


def test_a_gate_that_is_set_lets_all_waiters_through() -> None:
    gate = Gate()
    through: list[bool] = []
    waiters = [threading.Thread(target=lambda: through.append(gate.wait())) for _ in range(20)]
    for waiter in waiters:
        waiter.start()
    gate.set()
    for waiter in waiters:
        waiter.join()
    assert (through, gate.is_set(), gate.wait(0.0)) == ([True] * 20, True, True)


def test_a_gate_that_was_cleared_holds_back() -> None:
    gate = Gate()
    gate.set()
    gate.set()
    gate.clear()
    assert (gate.is_set(), gate.wait(0.0)) == (False, False)
    gate.set()
    assert gate.wait()


def test_every_setting_is_answered() -> None:
    """Two tasks that hand a turn to and fro never miss each other."""
    there, back = Gate(), Gate()
    turns = 2_000

    def answer() -> None:
        for _ in range(turns):
            there.wait()
            there.clear()
            back.set()

    other = threading.Thread(target=answer)
    other.start()
    done = 0
    for _ in range(turns):
        there.set()
        back.wait()
        back.clear()
        done += 1
    other.join()
    assert done == turns
