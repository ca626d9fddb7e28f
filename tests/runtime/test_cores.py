"""Loops of separate programs on one computer have a core each, as long as there is one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from hil.runtime.cores import claim_core
from hil.runtime.rtprio import hand_out_cores

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only there a program can choose its core")

CLAIM = (
    "import sys; from pathlib import Path; from hil.runtime.cores import claim_core; "
    "claim = claim_core([4, 5], Path(sys.argv[1])); print(claim.core, flush=True); sys.stdin.read()"
)


def test_one_loop_after_the_other_takes_the_last_core_that_is_free(tmp_path: Path) -> None:
    with ExitStack() as stack:
        claims = [stack.enter_context(closing(claim_core([0, 1, 2], tmp_path))) for _ in range(4)]
        assert [claim.core for claim in claims] == [2, 1, 0, None]


def test_a_core_that_was_let_go_of_is_free(tmp_path: Path) -> None:
    first, second = claim_core([0, 1], tmp_path), claim_core([0, 1], tmp_path)
    first.close()
    first.close()
    third = claim_core([0, 1], tmp_path)
    assert (first.core, second.core, third.core) == (1, 0, 1)
    second.close()
    third.close()


def test_where_claims_cannot_be_made_a_loop_is_as_if_it_were_alone(tmp_path: Path) -> None:
    assert claim_core([0, 1], tmp_path / "missing").core is None


def test_a_claim_leaves_no_lock_that_is_followed_elsewhere(tmp_path: Path) -> None:
    """The folder is open to all users: a link that somebody has put there is not written through."""
    (tmp_path / "hil-core-1.lock").symlink_to(tmp_path / "elsewhere")
    with closing(claim_core([0, 1], tmp_path)) as claim:
        assert claim.core == 0
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.processes
def test_a_claim_goes_with_its_process_however_that_ends(tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", CLAIM, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert owner.stdout is not None
    assert owner.stdin is not None
    try:
        assert owner.stdout.readline() == b"5\n"
        with closing(claim_core([4, 5], tmp_path)) as ours:
            assert ours.core == 4
    finally:
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        owner.stdin.close()
        owner.stdout.close()
    with closing(claim_core([4, 5], tmp_path)) as ours:
        assert ours.core == 5


@pytest.fixture
def _free_again() -> Iterator[None]:
    """Handing out keeps this process off the cores, and its claims for good."""
    before = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, before)


@pytest.mark.usefixtures("_free_again")
@pytest.mark.skipif(sys.platform != "linux" or os.cpu_count() == 1, reason="needs two cores")
def test_a_service_takes_cores_that_no_other_program_has(tmp_path: Path) -> None:
    last, before = sorted(os.sched_getaffinity(0))[-1], sorted(os.sched_getaffinity(0))[-2]
    with closing(claim_core(folder=tmp_path)) as other:
        assert other.core == last
        assert hand_out_cores(1, tmp_path) == (before,)
        assert before not in os.sched_getaffinity(0)
