"""A fake CR1 that has just been started has nothing left to load for its first request; others load none of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

COUNTED = """
import json, sys
def loaded():
    from hil.program import syntax
    return {"modules": sorted(sys.modules), "grammars": syntax._parser.cache_info().misses}
"""

SERVED = (
    COUNTED
    + """
import encodings.idna, socket, threading  # the client needs the first one
from sim.fake_cr1 import Cr1Options, run_fake_cr1
found, over = [], threading.Event()
def client(url):
    host, port = url.removeprefix("socket://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as line:
        for request in ("CNTLON", "SRVON", "EXECM1=1", "RUN1;1"):
            line.sendall(f"1;1;{request}\\r".encode())
            answer = line.recv(65536).decode()
            assert answer == "QoK\\r", (request, answer)
            found.append(loaded())
    over.set()
def ready(url):
    found.append(loaded())
    threading.Thread(target=client, args=(url,)).start()
run_fake_cr1(Cr1Options(tcp_port=0, programs={"1": "10 M1=M1+1\\n20 END"}), ready, owned=over.is_set)
print(json.dumps(found))
"""
)

INSIDE = (
    COUNTED
    + """
from hil.runtime import wiring
from hil.runtime.kinds import rv2aj_fake
from hil.runtime.kinds.kind import USUAL
rig = wiring.load_rig("rv2aj")
port = rv2aj_fake.FAKE.in_memory(rig, rig.park, False, None, 0.0, USUAL).open_port()
found, now_s = [loaded()], 0.0
for request in ("CNTLON", "SRVON", "EXECM1=1", "EXECMOV (250,0,450,0,180)(6,0)"):
    port.write(f"1;1;{request}\\r".encode(), now_s)
    now_s += 1.0
    assert port.read(now_s) == b"QoK\\r", request
    found.append(loaded())
print(json.dumps(found))
"""
)

OTHERS = """
import json, sys
from hil.cli import fake, main
from hil.runtime import wiring
from hil.runtime.kinds import ssc32_fake
wiring.load_rig("lynx6")
print(json.dumps(sorted(sys.modules)))
"""


def outcome(program: str) -> Any:
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.processes
@pytest.mark.parametrize("program", [SERVED, INSIDE], ids=["on a port", "inside the program"])
def test_the_first_requests_load_no_module_and_build_no_grammar(program: str) -> None:
    before, *after = outcome(program)
    assert before["grammars"] == 1
    for each in after:
        assert set(each["modules"]) - set(before["modules"]) == set()
        assert each["grammars"] == 1


@pytest.mark.processes
def test_the_command_line_and_an_ssc32_rig_load_no_melfa_basic() -> None:
    modules = set(outcome(OTHERS))
    assert {"hil.cli.fake", "sim.ssc32"} <= modules
    assert not {
        name for name in modules if name.split(".")[0] == "lark" or name.startswith(("sim.cr1", "hil.program."))
    }
