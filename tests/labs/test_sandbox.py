"""What a student's function can do: compute. Each hostile one has a test, and gets words of its own."""

import os
import platform

import pytest

from hil.labs.sandbox import NoSandboxError, SandboxError, call_function, locks_in
from hil.labs.sandbox_inside import FUTEX

pytestmark = pytest.mark.skipif(not locks_in(), reason="processes are locked in on Linux only")


def call(source, tmp_path, cases=({"x": 2.0},), seconds=1.0):
    return call_function(source.encode(), "f", cases, tmp_path, seconds=seconds, memory_mb=512)


def refused(source, tmp_path):
    with pytest.raises(SandboxError) as told:
        call(source, tmp_path)
    return str(told.value)


def test_a_function_is_called_once_for_each_case(tmp_path):
    source = "import math\n\ndef f(x):\n    return {'y': math.sqrt(x), 'all': (x, None, 'text')}\n"
    found = call(source, tmp_path, [{"x": 4.0}, {"x": 9.0}])
    assert found == [{"y": 2.0, "all": [4.0, None, "text"]}, {"y": 3.0, "all": [9.0, None, "text"]}]


def test_numpy_is_given_and_its_arrays_come_back_as_lists(tmp_path):
    source = "import numpy as np\n\ndef f(x):\n    return {'q': np.linalg.solve(x * np.eye(2), np.ones(2))}\n"
    assert call(source, tmp_path, seconds=10.0) == [{"q": [0.5, 0.5]}]


def test_chance_is_the_same_every_time(tmp_path):
    source = "import random\n\ndef f(x):\n    return [random.random(), hash('a')]\n"
    assert call(source, tmp_path) == call(source, tmp_path)


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    return open('/etc/passwd').read()\n",
        "def f(x):\n    open('mine.txt', 'w').write('x' * 10)\n",
        "import os\n\ndef f(x):\n    return os.listdir('/')\n",
        "import os\n\ndef f(x):\n    while True:\n        os.fork()\n",
        "import os\n\ndef f(x):\n    os.execv('/bin/sh', ['sh'])\n",
        "import os\n\ndef f(x):\n    os.kill(os.getppid(), 9)\n",
        "import os\n\ndef f(x):\n    os.setsid()\n",
        "import time\n\ndef f(x):\n    time.sleep(1e9)\n",
    ],
    ids=["read", "write", "list", "fork", "exec", "kill", "session", "sleep"],
)
def test_what_is_no_computing_is_refused_by_the_kernel(source, tmp_path):
    assert "asks the system for what is not given" in refused(source, tmp_path)
    assert os.listdir(tmp_path) == []


def test_native_code_is_refused_as_python_is(tmp_path):
    source = """
import numpy

def f(x):
    import sys
    library = sys.modules["ctypes"].CDLL(None, use_errno=True)
    return [library.socket(2, 1, 0), library.open(b"/etc/passwd", 0), library.fork(), library.prctl(22, 0, 0, 0, 0)]
"""
    assert call(source, tmp_path, seconds=10.0) == [[-1, -1, -1, -1]]


@pytest.mark.parametrize("module", ["socket", "subprocess", "hil", "ctypes.util", "numpy.distutils.cpuinfo"])
def test_other_modules_are_not_there_and_those_that_are_stand_in_the_refusal(module, tmp_path):
    words = refused(f"import {module}\n\ndef f(x):\n    return 1\n", tmp_path)
    assert "given are" in words and "numpy" in words


@pytest.mark.parametrize(
    "source, words",
    [
        ("def f(x):\n    while True:\n        pass\n", "did not come to an end; allowed: 1 s"),
        ("def f(x):\n    return bytearray(10 ** 10)\n", "more memory than it may have"),
        ("def f(x):\n    return 'x' * 10 ** 7\n", "more than 1000000 bytes"),
        ("def f(x):\n    return float('nan')\n", "cannot be written"),
        ("def f(x):\n    return {'\\ud800': 1}\n", "text that is no Unicode"),
        ("def f(x):\n    return f(x)\n", "RecursionError"),
        ("def f(x):\n    return f\n", "it gives a function"),
        ("def f(x):\n    return [1 / 0]\n", "line 2: ZeroDivisionError"),
        ("def g(x):\n    return 1\n", "there is no function f"),
        ("def f(x:\n", "SyntaxError"),
        ("import os\n\ndef f(x):\n    os._exit(0)\n", "ended by itself"),
    ],
)
def test_everything_else_that_goes_wrong_is_said_in_words(source, words, tmp_path):
    assert words in refused(source, tmp_path)


def test_a_result_that_is_written_past_the_function_is_a_value_and_no_more(tmp_path):
    source = """
import os

def f(x):
    for k in range(3, 9):
        try:
            os.write(k, b'{"results": [1, 2, 3]}')
        except OSError:
            pass
    os._exit(0)
"""
    assert "nothing that can be read" in refused(source, tmp_path)


def test_nothing_of_the_exercise_or_of_the_person_is_there_to_be_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HIL_SECRET", "the seed")
    source = (
        "import os, sys\n\ndef f(x):\n    return [sorted(os.environ), [m for m in sys.modules if m[:3] == 'hil']]\n"
    )
    ((names, modules),) = call(source, tmp_path)
    assert "HIL_SECRET" not in names and "HOME" not in names and modules == []


def test_where_no_process_can_be_locked_in_no_function_is_run(tmp_path, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(NoSandboxError, match="only where a process can be locked in"):
        call("def f(x):\n    return 1\n", tmp_path)


def test_a_function_cannot_wait_for_anything(tmp_path):
    source = """
import numpy

def f(x):
    import sys
    ctypes = sys.modules["ctypes"]
    library = ctypes.CDLL(None, use_errno=True)
    word = ctypes.c_int(0)
    number = NUMBER
    return [library.syscall(number, ctypes.byref(word), op, 0, None, None, 0) for op in (0, 128, 9, 1, 129)]
""".replace("NUMBER", str(FUTEX[platform.machine()]))
    assert call(source, tmp_path, seconds=10.0) == [[-1, -1, -1, 0, 0]]


def test_nobody_behind_the_lock_can_say_that_there_was_none(tmp_path):
    source = """
import os

def f(x):
    for k in range(3, 9):
        try:
            os.write(k, b'{"unlocked": "really"}')
        except OSError:
            pass
    os._exit(0)
"""
    assert "nothing that can be read" in refused(source, tmp_path)


def test_what_the_machine_has_ended_is_not_the_students_fault(tmp_path, monkeypatch):
    monkeypatch.setattr("hil.labs.sandbox.STARTING_S", -20.0)
    with pytest.raises(NoSandboxError, match="had no turn"):
        call("def f(x):\n    return 1\n", tmp_path, seconds=10.0)
