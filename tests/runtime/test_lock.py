from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from hil.errors import InterlockError
from hil.runtime.lock import RigLock

ROOT = Path(__file__).parents[2]


def test_the_second_owner_is_told_who_has_the_rig_and_what_to_do(tmp_path: Path) -> None:
    with (
        RigLock(tmp_path, "lynx6", command="hil run lynx6 task.toml", address="127.0.0.1:8080", now_epoch_s=0.0),
        pytest.raises(InterlockError) as taken,
        RigLock(tmp_path, "lynx6", command="hil jog lynx6"),
    ):
        pass
    text = str(taken.value)
    assert text.startswith(
        f"rig lynx6 has another owner: process {os.getpid()} on {platform.node()} (hil run lynx6 task.toml) since"
    )
    assert text.endswith("which answers at 127.0.0.1:8080. Talk to it at 127.0.0.1:8080, or end it, and try again")
    assert taken.value.missing == ("the rig is free",)


def test_an_owner_without_an_address_is_to_be_waited_for(tmp_path: Path) -> None:
    with (
        RigLock(tmp_path, "lynx6", command="hil park lynx6"),
        pytest.raises(InterlockError, match="Wait until it has ended, or end it, and try again"),
    ):
        RigLock(tmp_path, "lynx6", command="hil jog lynx6").acquire()


def test_an_owner_that_has_not_written_its_note_yet_is_an_owner_all_the_same(tmp_path: Path) -> None:
    with RigLock(tmp_path, "lynx6", command="hil park lynx6"):
        (tmp_path / "locks" / "lynx6.owner.json").write_text("{half")
        with pytest.raises(InterlockError, match=r"has another owner, not yet known\. Try again"):
            RigLock(tmp_path, "lynx6", command="hil jog lynx6").acquire()


def test_a_rig_that_was_let_go_can_be_taken_again(tmp_path: Path) -> None:
    lock = RigLock(tmp_path, "lynx6", command="hil park lynx6")
    for _ in range(2):
        with lock:
            assert lock.owner() is not None
        lock.release()
        assert lock.owner() is None


def test_different_rigs_do_not_disturb_each_other_whatever_they_are_called(tmp_path: Path) -> None:
    with RigLock(tmp_path, "a/../b", command="one"), RigLock(tmp_path, "a", command="two"):
        assert {path.parent for path in tmp_path.rglob("*.lock")} == {tmp_path / "locks"}


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text("a file where a folder should be")
    with pytest.raises(
        InterlockError, match=r"rig lynx6: cannot be locked: .*lynx6\.lock: .*Make that folder writable"
    ):
        RigLock(tmp_path, "lynx6", command="hil jog lynx6").acquire()


OWNER = """
import sys
from pathlib import Path
from hil.runtime.lock import RigLock
with RigLock(Path(sys.argv[1]), "lynx6", command="hil run lynx6 task.toml"):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.mark.processes
def test_the_note_of_a_killed_owner_is_no_obstacle(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER, tmp_path], stdin=PIPE, stdout=PIPE, cwd=ROOT) as owner:
        assert owner.stdout is not None
        owner.stdout.readline()
        mine = RigLock(tmp_path, "lynx6", command="hil jog lynx6")
        with pytest.raises(InterlockError, match=f"process {owner.pid} on"):
            mine.acquire()
        owner.kill()
        owner.wait()
        left = mine.owner()
        assert left is not None
        assert left.pid == owner.pid
        with mine:
            now = mine.owner()
            assert now is not None
            assert now.pid == os.getpid()
