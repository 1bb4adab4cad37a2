"""Work that a crew loses is given out again, a bounded number of times, and named where it stays lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import BrokenExecutor, Future
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnfuzz.backends.pool import Limits
from bnfuzz.campaign.parallel.frames import Described
from bnfuzz.campaign.parallel.posting import ATTEMPTS, Lost, Postings, Work


class Desk:
    """A crew that does nothing by itself: `given` holds what it was given, to be answered by the test."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.given: list[tuple[Future[Any], Any]] = []

    def describe(self, backends: tuple[str, ...], limits: Limits) -> Collection[dict[str, Described]]:
        raise NotImplementedError

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.given.append((future, *arguments))
        return future

    def was_lost(self, error: BaseException) -> bool:
        return isinstance(error, BrokenExecutor)

    def hurry(self) -> None: ...
    def close(self) -> None: ...


def work(key: int, order: Callable[[], Any] | None = None) -> Work:
    return Work(key=key, name=f"piece {key}", function=abs, order=order or (lambda: key))


@given(st.lists(st.integers(0, ATTEMPTS + 1), min_size=1, max_size=5), st.randoms())
def test_every_piece_comes_back_once_with_its_result_or_as_lost(losses: list[int], chance: Any) -> None:
    desk = Desk(len(losses))
    postings = Postings(desk)
    for key in range(len(losses)):
        postings.post(work(key))
    assert postings.room == 0
    left, begun, back = list(losses), Counter[int](), dict[int, Any]()
    while postings:
        chance.shuffle(desk.given)
        for future, key in desk.given:
            begun[key] += 1
            left[key] -= 1
            if left[key] >= 0:
                future.set_exception(BrokenExecutor("it died"))
            else:
                future.set_result(10 * key)
        desk.given.clear()
        for piece, order, result in postings.collect(0.0):
            assert piece.key not in back
            assert order == piece.key
            back[piece.key] = result
    assert postings.room == len(losses)
    for key, count in enumerate(losses):
        assert begun[key] == min(count + 1, ATTEMPTS)
        if count < ATTEMPTS:
            assert back[key] == 10 * key
        else:
            assert back[key] == Lost(why=f"piece {key}: {ATTEMPTS} workers were lost over it, the last with: it died")


def test_an_order_is_made_anew_when_its_work_is_given_out_again() -> None:
    desk, seconds = Desk(1), iter((60.0, 40.0))
    postings = Postings(desk)
    postings.post(work(0, lambda: next(seconds)))
    desk.given.pop()[0].set_exception(BrokenExecutor())
    assert list(postings.collect(0.0)) == []
    assert postings.names == ["piece 0"]
    assert list(postings.collect(0.0)) == []
    future, order = desk.given.pop()
    assert order == 40.0
    future.set_result("done")
    assert [(order, result) for _, order, result in postings.collect(0.0)] == [(40.0, "done")]


def test_what_a_worker_raised_is_raised_here() -> None:
    desk = Desk(1)
    postings = Postings(desk)
    postings.post(work(0))
    desk.given.pop()[0].set_exception(ZeroDivisionError("of a worker"))
    with pytest.raises(ZeroDivisionError, match="of a worker"):
        list(postings.collect(0.0))


def test_what_is_left_takes_a_place_until_it_ends() -> None:
    desk = Desk(2)
    postings = Postings(desk)
    postings.post(work(0))
    running = desk.given.pop()[0]
    assert running.set_running_or_notify_cancel()
    postings.post(work(1))
    postings.leave()
    assert len(postings) == 0
    assert postings.room == 1
    running.set_result(None)
    assert postings.room == 2
    assert list(postings.collect(0.0)) == []
