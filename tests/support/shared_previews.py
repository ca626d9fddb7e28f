"""Previews for the labs of tests, all in one process: one for each lab would read in numpy and the program anew."""

from __future__ import annotations

import asyncio
import functools
import multiprocessing
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor

from hil.model.rig import Rig
from hil.service.uploads import Job, UploadVerdict, judge


class SharedPreviews:
    """In the place of `hil.service.preview_desk._Worker`; what that one has of its own, test_preview_desk.py asks."""

    def __init__(self, rigs: Mapping[str, Rig], cpu_s: float) -> None:
        self._rigs = rigs

    def preview(self, job: Job) -> asyncio.Future[UploadVerdict]:
        """One job, after those before it, of whatever lab."""
        return asyncio.wrap_future(_process().submit(judge, self._rigs, job))

    def close(self) -> None:
        """The next lab needs the process."""


@functools.cache
def _process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
