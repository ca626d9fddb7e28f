"""A lease outlives its server: it waits for its holder as after a lost line, and for nobody longer than that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.errors import InterlockError
from hil.service.keepsake import Keepsake
from hil.service.kept_leases import KeptLeases
from hil.service.lease import Lease
from hil.service.lease_facts import ArmFacts, Changed, Hold, Party
from hil.service.lease_settings import LeaseSettings
from hil.service.rights import Role
from hil.service.wire import LeasePhase
from hil.types import Mode

PARKED = ArmFacts(mode=Mode.IDLE, parked=True)
LIMP = ArmFacts(mode=Mode.UNKNOWN_POSE, parked=False)
COMING = ArmFacts(mode=Mode.CONNECTING, parked=False, coming=True)
ANN = Party(user="ann", name="Ann", role=Role.DRIVE, channel=1)
AGAIN = msgspec.structs.replace(ANN, channel=21)
BOB = Party(user="bob", name="Bob", role=Role.DRIVE, channel=22)
TEACHER = Party(user="tom", name="Tom", role=Role.TEACH, channel=23)
DIED_S, DIED_EPOCH_S = 1000.0, 1_790_000_000.0


def _lease(first_epoch: int = 100) -> Lease:
    return Lease("lynx6", LeaseSettings(), first_epoch=first_epoch)


def _driven(party: Party = ANN, begin_s: float = 900.0) -> Lease:
    lease = _lease()
    lease.claim(party, begin_s, PARKED)
    lease.observe(PARKED, begin_s)
    lease.beat(party, lease.epoch, False, DIED_S, DIED_S)
    lease.beat(party, lease.epoch, True, DIED_S, DIED_S)
    assert lease.held(DIED_S)
    return lease


class Folder:
    """A lab's folder, and what its servers say."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "leases.json"
        self.said: list[str] = []

    def open(self, now_epoch_s: float, *, expected: bool = True) -> KeptLeases:
        return KeptLeases(self.path, expected=expected, now_epoch_s=now_epoch_s, say=self.said.append)

    def die(self, lease: Lease, now_s: float = DIED_S) -> None:
        self.open(0.0, expected=False).keep({"lynx6": lease.keepsake(now_s)}, DIED_EPOCH_S)

    def next(self, down_s: float, now_s: float = 5.0, *, first_epoch: int = 1) -> Lease:
        """The lease of the next server, whose monotonic clock may begin anywhere."""
        lease = _lease(first_epoch)
        lease.take_up(self.open(DIED_EPOCH_S + down_s).found["lynx6"], now_s)
        return lease


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


# -- coming back -----------------------------------------------------------------------------------------------------


def test_after_a_killed_server_the_arm_waits_for_its_holder_and_for_nobody_else(folder: Folder) -> None:
    before = _driven()
    folder.die(before)
    lease = folder.next(down_s=10.0)
    assert lease.phase is LeasePhase.SUSPENDED
    assert (lease.brief(5.0).holder, lease.brief(5.0).kept_s) == ("Ann", 50.0)
    with pytest.raises(InterlockError, match="Ann drives it, and is away; it is kept for 49 s"):
        lease.claim(BOB, 6.0, PARKED)
    lease.claim(AGAIN, 7.0, LIMP)
    lease.observe(LIMP, 7.1)
    assert lease.is_driver(AGAIN.channel)
    assert lease.epoch > before.epoch


def test_nothing_that_was_held_or_asked_for_comes_back(folder: Folder) -> None:
    before = _driven()
    epoch = before.epoch
    folder.die(before)
    lease = folder.next(down_s=1.0)
    lease.claim(AGAIN, 5.1, LIMP)
    lease.observe(LIMP, 5.2)
    with pytest.raises(InterlockError, match=f"epoch {epoch} is over"):
        lease.beat(AGAIN, epoch, True, 5.3, 5.3)
    lease.beat(AGAIN, lease.epoch, True, 5.3, 5.3)
    assert not lease.held(5.3), "a hand that lies on the button is no wish to move"


def test_nobody_drives_before_the_holder_is_back_and_an_arm_that_comes_up_is_not_held_up_by_it(folder: Folder) -> None:
    folder.die(_driven())
    lease = folder.next(down_s=1.0)
    for channel in (0, ANN.channel, AGAIN.channel):
        assert not lease.is_driver(channel)
    effects = lease.claim(AGAIN, 5.1, COMING)
    assert not any(isinstance(effect, Hold) for effect in effects)
    lease.observe(COMING, 5.2)
    assert not lease.is_driver(AGAIN.channel)
    lease.observe(PARKED, 15.0)
    assert lease.is_driver(AGAIN.channel)


def test_who_only_waited_for_an_arm_that_came_up_had_no_lease_to_keep(folder: Folder) -> None:
    lease = _lease()
    lease.claim(ANN, DIED_S, COMING)
    folder.die(lease)
    assert folder.next(down_s=1.0).phase is LeasePhase.FREE


def test_the_queue_is_gone_with_the_connections_and_who_asks_again_stands_behind_the_holder(folder: Folder) -> None:
    before = _driven()
    before.claim(BOB, DIED_S, PARKED, wait=True)
    folder.die(before)
    lease = folder.next(down_s=1.0)
    assert lease.brief(5.0).waiting == 0
    lease.claim(BOB, 6.0, PARKED, wait=True)
    lease.claim(AGAIN, 7.0, PARKED)
    lease.observe(PARKED, 7.1)
    assert lease.is_driver(AGAIN.channel)
    assert lease.place(BOB.channel) == 1


def test_who_waits_gets_a_parked_arm_once_its_holder_has_not_come(folder: Folder) -> None:
    folder.die(_driven())
    lease = folder.next(down_s=20.0, now_s=0.0)
    lease.claim(BOB, 1.0, PARKED, wait=True)
    for k in range(500):
        lease.observe(PARKED, 0.1 * k)
        if lease.is_driver(BOB.channel):
            break
    assert 0.1 * k == pytest.approx(40.0, abs=0.5)


def test_a_teacher_may_take_over_and_anybody_may_stop_meanwhile(folder: Folder) -> None:
    folder.die(_driven())
    lease = folder.next(down_s=1.0)
    assert isinstance(lease.stop(BOB, "too near", 5.5)[0], Hold)
    assert lease.latched == "stopped by Bob: too near"
    lease.take_over(TEACHER, "", 6.0, LIMP, keep_booking=True)
    lease.observe(LIMP, 6.1)
    assert lease.is_driver(TEACHER.channel)
    with pytest.raises(InterlockError, match="Tom drives it"):
        lease.claim(AGAIN, 6.2, LIMP)


def test_a_freeze_a_latched_stop_and_the_duty_to_park_outlive_the_server_too(folder: Folder) -> None:
    near = Party(user="nea", name="Nea", role=Role.DRIVE, channel=3, on_site=True)
    away = ArmFacts(mode=Mode.HOLDING, parked=False)
    before = _lease()
    before.claim(near, DIED_S, away)
    before.observe(away, DIED_S)
    before.freeze(TEACHER, "a hand", DIED_S)
    before.stop(BOB, "", DIED_S)
    folder.die(before)
    lease = folder.next(down_s=1.0)
    assert (lease.frozen, lease.latched, lease.must_park) == ("Tom: a hand", "stopped by Bob", True)


# -- how long --------------------------------------------------------------------------------------------------------


def test_the_time_counts_on_while_there_is_no_server(folder: Folder) -> None:
    folder.die(_driven())
    assert folder.next(down_s=59.9).phase is LeasePhase.SUSPENDED
    assert folder.next(down_s=60.0).phase is LeasePhase.FREE


def test_a_lease_that_had_waited_already_waits_for_the_rest(folder: Folder) -> None:
    lease = _driven()
    lease.closed(ANN.channel, DIED_S)
    lease.observe(PARKED, DIED_S + 25.0)
    folder.die(lease, DIED_S + 25.0)
    assert folder.next(down_s=10.0).brief(5.0).kept_s == pytest.approx(25.0)


def test_a_slot_and_a_token_go_on_as_well(folder: Folder) -> None:
    lease = _driven(msgspec.structs.replace(ANN, until_s=DIED_S + 30.0))
    assert lease.slot_end_s == DIED_S + 30.0
    folder.die(lease)
    assert folder.next(down_s=10.0).slot_end_s == pytest.approx(5.0 + 20.0)
    assert folder.next(down_s=31.0).phase is LeasePhase.FREE, "the token has ended"
    folder.die(_driven(begin_s=DIED_S - 1500.0))
    again = folder.next(down_s=10.0)
    assert again.slot_end_s == pytest.approx(5.0 + 1800.0 - 1500.0 - 10.0)


@given(clock_s=st.floats(-1e6, 1e6), waited_s=st.floats(0.0, 59.0), restarts=st.integers(1, 4))
def test_no_clock_makes_it_longer_than_the_grace(clock_s: float, waited_s: float, restarts: int) -> None:
    lease = _driven()
    lease.closed(ANN.channel, DIED_S)
    kept, waits_s = lease.keepsake(DIED_S + waited_s), LeaseSettings().grace_s - waited_s
    for _ in range(restarts):
        gone_s = max(0.0, clock_s)
        left = kept.later(gone_s)
        after = _lease(1)
        after.take_up(left, 77.0)
        assert after.epoch > kept.epoch
        assert (after.phase is LeasePhase.SUSPENDED) == (gone_s < waits_s)
        if after.phase is LeasePhase.FREE:
            return
        kept_s = after.brief(77.0).kept_s
        assert kept_s is not None and kept_s <= waits_s + 1e-6
        kept, waits_s = after.keepsake(77.0), kept_s


def test_a_clock_that_was_set_back_takes_nothing_away_and_gives_nothing(folder: Folder) -> None:
    folder.die(_driven())
    assert folder.next(down_s=-1e6).brief(5.0).kept_s == pytest.approx(60.0)


def test_a_lab_that_waits_less_by_now_waits_less(folder: Folder) -> None:
    folder.die(_driven())
    lease = Lease("lynx6", LeaseSettings(grace_s=7.0), first_epoch=1)
    lease.take_up(folder.open(DIED_EPOCH_S + 1.0).found["lynx6"], 5.0)
    assert lease.brief(5.0).kept_s == pytest.approx(7.0)


def test_epochs_rise_over_a_restart_whatever_the_clock_says(folder: Folder) -> None:
    before = _driven()
    folder.die(before)
    assert folder.next(down_s=1.0, first_epoch=1).epoch > before.epoch
    assert folder.next(down_s=1.0, first_epoch=10**9).epoch == 10**9


# -- the file --------------------------------------------------------------------------------------------------------


def test_a_new_lab_has_no_file_and_says_nothing(folder: Folder) -> None:
    assert not folder.open(DIED_EPOCH_S, expected=False).found
    assert folder.said == []


def test_a_file_that_is_missing_leaves_every_arm_free_and_is_said(folder: Folder) -> None:
    assert not folder.open(DIED_EPOCH_S).found
    assert "is not there" in folder.said[0] and "every arm is free" in folder.said[0]


def _changed(text: str, **changes: Any) -> str:
    table = json.loads(text)
    table["arms"]["lynx6"]["holder"].update(changes)
    return json.dumps(table)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"v": 1', '"v": 2'),
        lambda text: text.replace('"drive"', '"emperor"'),
        lambda text: _changed(text, waits_s=-1.0),
        lambda text: _changed(text, waits_s=1e300),
        lambda text: _changed(text, more=1),
        lambda text: "[" * 100_000,
        lambda text: "\udcff",
    ],
)
def test_a_file_that_is_damaged_leaves_every_arm_free_and_is_said(damage: Any, folder: Folder) -> None:
    folder.die(_driven())
    folder.path.write_bytes(damage(folder.path.read_text()).encode("utf-8", "surrogateescape"))
    assert not folder.open(DIED_EPOCH_S + 1.0).found
    assert "cannot be read" in folder.said[0] and "every arm is free" in folder.said[0]
    folder.die(_driven())
    assert folder.next(down_s=1.0).phase is LeasePhase.SUSPENDED, "the next one is kept again"


def test_what_cannot_be_written_is_said_once_and_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said: list[str] = []
    kept = KeptLeases(tmp_path / "file" / "leases.json", expected=False, now_epoch_s=0.0, say=said.append)
    for epoch in range(3):
        kept.keep({"lynx6": Keepsake(epoch=epoch)}, 1.0)
    assert len(said) == 1 and "whoever asks first" in said[0]


def test_what_nobody_has_is_not_written_again_and_again(folder: Folder) -> None:
    kept, free = folder.open(0.0, expected=False), {"lynx6": Keepsake(epoch=7)}
    kept.keep(free, 1.0)
    folder.path.unlink()
    kept.keep(free, 2.0, aged=True)
    assert not folder.path.exists()
    lease = _driven()
    kept.keep({"lynx6": lease.keepsake(DIED_S)}, 3.0)
    folder.path.unlink()
    lease.claim(BOB, DIED_S, PARKED, wait=True)
    kept.keep({"lynx6": lease.keepsake(DIED_S + 0.1)}, 3.1)
    assert not folder.path.exists(), "who stands in the queue is not kept"
    kept.keep({"lynx6": lease.keepsake(DIED_S + 1.0)}, 4.0, aged=True)
    assert folder.path.exists(), "what somebody has grows older"


def test_whatever_changes_a_lease_is_a_change_that_is_told() -> None:
    """The file is written when a change is told: what changes in silence would be lost with the server."""
    lease = _driven()
    told = [
        lease.freeze(TEACHER, "", DIED_S),
        lease.thaw(TEACHER, DIED_S),
        lease.stop(BOB, "", DIED_S),
        lease.unlatch(TEACHER, DIED_S),
        lease.closed(ANN.channel, DIED_S),
        lease.claim(AGAIN, DIED_S, PARKED),
        lease.observe(PARKED, DIED_S),
        lease.release(AGAIN, lease.epoch, DIED_S),
    ]
    assert all(any(isinstance(effect, Changed) for effect in effects) for effects in told)
