from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from hil.runtime.rtprio import RestingCollector

ROOT = Path(__file__).parents[2]
ASK = (
    "import gc; from hil.runtime.rtprio import prepare_realtime; print(*prepare_realtime(), gc.isenabled(), sep='\\n')"
)
NO_RIGHTS = (
    "import os, resource; resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0)); "
    "resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0)); os.getuid() or os.setuid(65534); "
)


def _lines(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-B", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.processes
def test_everything_asked_for_is_reported_granted_or_not_and_the_collector_is_off() -> None:
    *words, collector, enabled = _lines(ASK)
    assert words
    assert all(": " in line for line in words)
    assert collector.startswith("garbage collector: off, ")
    assert enabled == "False"


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="asks for what Linux refuses")
def test_what_is_refused_is_said_with_the_way_to_allow_it() -> None:
    memory, slack, priority, *_ = _lines("from hil.runtime import rtprio; " + NO_RIGHTS + ASK)
    assert memory.startswith("memory lock: not permitted (")
    assert slack == "timer slack: 1 ns"
    assert priority.startswith("real-time priority: not permitted (")
    assert "'rtprio 40' in limits.conf" in priority


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="policies as Linux has them")
@pytest.mark.parametrize("fake", ["own", "of `hil fake`"])
def test_a_fake_that_is_up_is_kept_waiting_by_no_ordinary_program(fake: str) -> None:
    policy = "import os; policy = lambda: print(os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK); policy(); "
    if fake == "own":
        code = (
            "from multiprocessing import Pipe; from hil.runtime.kinds.served import serve_owner; near, far = Pipe(); "
            "serve_owner(far, None, lambda ready, owner: ready('port')); near.recv(); policy()"
        )
    else:
        code = "from hil.cli.fake import _is_up; _is_up('ssc32', 'port'); policy()"
    asked = "from hil.runtime.rtprio import answer_at_once; answer_at_once(); policy()"
    assert _lines(policy + code)[-1] == _lines(policy + asked)[-1]
    assert _lines(policy + code)[0] == str(os.SCHED_OTHER)


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux" or os.cpu_count() == 1, reason="needs Linux and two cores")
@pytest.mark.parametrize("core", ["None", "min(os.sched_getaffinity(0))"])
def test_the_loop_has_a_core_that_recorder_and_fake_stay_off(core: str) -> None:
    code = "import os; from hil.runtime.{0} import {1}; {1}({2}); print(*sorted(os.sched_getaffinity(0)))"
    (loop,) = _lines(code.format("rtprio", "prepare_realtime", core))
    (others,) = _lines(code.format("cores", "leave_the_loops_core", core))
    assert len(loop.split()) == 1
    assert loop not in others.split()


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux" or os.cpu_count() == 1, reason="needs Linux and two cores")
def test_an_owner_of_several_loops_leaves_them_cores_that_each_then_takes() -> None:
    owner = "from hil.runtime.rtprio import hand_out_cores, prepare_realtime; cores = hand_out_cores(3); "
    left, handed = _lines("import os; " + owner + "print(*os.sched_getaffinity(0)); print(*cores)")
    (loop,) = _lines("import os; " + owner + "prepare_realtime(cores[0]); print(*os.sched_getaffinity(0))")
    assert loop == handed.split()[0]
    assert not set(left.split()) & set(handed.split())


def test_what_only_a_collector_finds_is_collected_while_the_arm_rests_now_and_then() -> None:
    class Thing:
        pass

    def leave_one() -> weakref.ref[Thing]:
        thing = Thing()
        thing.itself = thing  # type: ignore[attr-defined]
        return weakref.ref(thing)

    gc.disable()
    try:
        collector, first = RestingCollector(), leave_one()
        collector.rests(5.0)
        assert first() is None
        second = leave_one()
        collector.rests(5.0 + 0.9 * RestingCollector.EVERY_S)
        assert second() is not None
        collector.rests(5.0 + RestingCollector.EVERY_S)
        assert second() is None
    finally:
        gc.enable()
