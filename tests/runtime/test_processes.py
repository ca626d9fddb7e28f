"""Whether a parent or a sibling is dead, seen by a process that cannot reap them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

ROOT = Path(__file__).parents[2]
ENDING = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGBREAK")
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
OWNER = """
import multiprocessing, sys, time
sys.path.insert(0, sys.argv[1])
from hil.runtime.processes import death_of, death_of_parent

def hold(life_line):
    time.sleep(60)

def watch(sibling):
    seen, sibling_dead, parent_dead = None, death_of(sibling), death_of_parent()
    while seen != (True, True):
        if seen != (seen := (sibling_dead(), parent_dead())):
            print("sibling dead:", seen[0], "parent dead:", seen[1], flush=True)
        time.sleep(0.002)

if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    seen, held = spawn.Pipe(duplex=False)
    with seen, held:
        sibling = spawn.Process(target=hold, args=(held,))
        sibling.start()
        spawn.Process(target=watch, args=(seen,)).start()
    print(sibling.pid, flush=True)
    time.sleep(60)  # and reaps nobody
"""


@pytest.mark.processes
def test_the_death_of_a_sibling_and_of_the_parent_is_seen_although_nobody_reaps_them(tmp_path: Path) -> None:
    script = tmp_path / "owner.py"
    script.write_text(OWNER, encoding="utf-8")
    with subprocess.Popen([sys.executable, str(script), str(ROOT)], stdout=PIPE, text=True) as owner:
        assert owner.stdout is not None
        sibling = int(owner.stdout.readline())
        assert owner.stdout.readline() == "sibling dead: False parent dead: False\n"
        os.kill(sibling, KILL)
        assert owner.stdout.readline() == "sibling dead: True parent dead: False\n"
        owner.kill()
        assert owner.stdout.readline() == "sibling dead: True parent dead: True\n"
        assert owner.stdout.read() == "", "the watcher has ended by itself"
