"""Work that tells of its progress by a call, as a generator: what `Work` runs in a process of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from typing import TypeVar

T = TypeVar("T")

Told = Callable[[int, int], None]
"""Is told how much of how much is done."""

TELL_EVERY_S = 0.1


def told_of(work: Callable[[Told], T]) -> Generator[tuple[int, int], None, T]:
    """Do `work` and yield how much of how much is done, ten times a second at most; the generator returns its result.

    Raises:
        BaseException: what `work` raised.
    """
    latest: list[tuple[int, int]] = []
    result: list[T] = []
    failure: list[BaseException] = []

    def tell(done: int, total: int) -> None:
        latest[:] = [(done, total)]

    def run() -> None:
        try:
            result.append(work(tell))
        except BaseException as error:  # whatever it is, it is raised where the work was asked for
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    told: list[tuple[int, int]] = []
    running = True
    while running:
        thread.join(TELL_EVERY_S)
        running = thread.is_alive()
        if latest and latest != told:
            told = list(latest)
            yield told[0]
    if failure:
        raise failure[0]
    return result[0]
