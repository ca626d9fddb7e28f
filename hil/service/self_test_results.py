"""The newest self-test of each arm of a lab: kept over restarts, and due anew each day where the settings say so."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from hil.service.self_test import Ending, Outcome
from hil.service.wire import SelfTestBrief
from hil.types import Record

DUE_S = 24 * 3600.0


class Result(Record, frozen=True):
    """The newest self-test of an arm that passed or failed.

    Attributes:
        at_epoch_s: when it ended.
        failure: why it failed; empty if it passed.
        how: how the positions were known.
    """

    at_epoch_s: float
    failure: str = ""
    how: str = ""


class SelfTests:
    """The newest self-test of each arm, kept over restarts.

    Args:
        path: JSON file; None to forget them at the end. One that is damaged counts as none.
        daily: arms that are to have one each day.
        say: tells whoever runs the server that the file is damaged.
    """

    def __init__(self, path: Path | None, daily: frozenset[str], say: Callable[[str], None]) -> None:
        self._path, self._daily = path, daily
        self._results: dict[str, Result] = {}
        if path is not None and path.is_file():
            try:
                self._results = msgspec.json.decode(path.read_bytes(), type=dict[str, Result])
            except (OSError, msgspec.MsgspecError, UnicodeError) as error:
                say(f"{path} cannot be read ({error}): all self-tests count as not made, until the next one")

    def note(self, arm: str, outcome: Outcome, now_epoch_s: float) -> None:
        """Keep what came of one; one that was broken off says nothing about the arm.

        Raises:
            OSError: it cannot be written.
        """
        if outcome.ending is Ending.BROKEN_OFF:
            return
        failed = outcome.ending is Ending.FAILED
        result = Result(
            at_epoch_s=now_epoch_s, failure=outcome.words if failed else "", how="" if failed else outcome.words
        )
        self._results[arm] = result
        if self._path is not None:
            part = self._path.with_suffix(".part")
            with part.open("wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(self._results)))
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, self._path)

    def brief(self, arm: str, now_epoch_s: float) -> SelfTestBrief | None:
        """What everybody sees of it; None where there was none, and none is asked for."""
        result, wanted = self._results.get(arm), arm in self._daily
        if result is None:
            return SelfTestBrief(due=True) if wanted else None
        old = not 0.0 <= now_epoch_s - result.at_epoch_s < DUE_S
        return SelfTestBrief(
            due=wanted and (old or bool(result.failure)),
            at_epoch_s=result.at_epoch_s,
            failure=result.failure,
            how=result.how,
        )
