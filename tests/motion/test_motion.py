from __future__ import annotations

import math
import pickle

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hil.errors import CommandError
from hil.motion.motion import Mark, Motion

MARKS = (
    Mark(first=0, last=2, step=1, kind="joint"),
    Mark(first=2, last=4, step=2, kind="line", start_m=(0, 0, 0), end_m=(0, 0, 1), tolerance_m=1e-3),
)


def motion(samples=None, marks=MARKS, period_s=0.02, axes=("base", "gripper")):
    samples = np.arange(10.0).reshape(5, 2) if samples is None else samples
    return Motion(axes, period_s, samples, marks)


@given(arrays.arrays(np.float64, (5, 2), elements=st.floats(-10, 10)))
def test_a_motion_survives_its_bytes_bit_by_bit(samples):
    before = motion(samples)
    after = Motion.from_bytes(before.to_bytes())
    assert after.digest == before.digest
    assert after.samples.tobytes() == before.samples.tobytes()
    assert (after.axes, after.period_s, after.marks) == (before.axes, before.period_s, before.marks)


@given(st.integers(0, 9), st.integers(0, 51))
def test_the_digest_changes_with_any_bit_of_any_sample(index, bit):
    samples = np.arange(1.0, 11.0)
    bits = samples.view(np.uint64).copy()
    bits[index] ^= np.uint64(1) << np.uint64(bit)
    changed = bits.view(np.float64)
    assert motion(changed.reshape(5, 2)).digest != motion(samples.reshape(5, 2)).digest


@pytest.mark.parametrize(
    "other",
    [
        {"period_s": 0.01},
        {"axes": ("base", "hand")},
        {"marks": MARKS[:1]},
        {"marks": (MARKS[0], msgspec.structs.replace(MARKS[1], tolerance_m=2e-3))},
        {"samples": -np.arange(10.0).reshape(5, 2)},
    ],
)
def test_the_digest_covers_everything(other):
    assert motion(**other).digest != motion().digest


def test_samples_cannot_be_written_in_any_way():
    made = motion()
    with pytest.raises(ValueError, match="read-only"):
        made.samples[0, 0] = 1.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        made.samples.setflags(write=True)
    with pytest.raises(AttributeError, match="immutable"):
        made.samples = np.zeros((5, 2))
    with pytest.raises(AttributeError, match="immutable"):
        del made.digest


def test_a_motion_does_not_change_with_the_array_it_was_made_from():
    samples = np.zeros((5, 2))
    made = motion(samples)
    samples[:] = 1.0
    assert not made.samples.any()


def test_a_motion_can_be_sent_to_another_process():
    assert pickle.loads(pickle.dumps(motion())).digest == motion().digest


def test_places_name_the_step_that_leads_to_a_sample():
    made = motion()
    assert [made.place(k) for k in range(5)] == ["step 1 (joint)"] * 3 + ["step 2 (line)"] * 2
    assert motion(marks=()).place(0) == ""
    assert motion(marks=[Mark(first=0, last=4, step=0, kind="joint", label="park")]).place(3) == "park"


def test_a_motion_tells_its_length_start_and_end():
    made = motion()
    assert (len(made), made.duration_s, made.start, made.end) == (5, 0.08, (0.0, 1.0), (8.0, 9.0))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_sample_that_is_not_finite_is_named(bad):
    samples = np.zeros((5, 2))
    samples[3, 1] = bad
    with pytest.raises(CommandError, match=r"sample 3, axis gripper: .* is not a finite number"):
        motion(samples)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"period_s": math.nan}, "period nan s"),
        ({"period_s": 0.0}, "period 0.0 s"),
        ({"axes": ()}, "1 to 16 different names"),
        ({"axes": ("base", "base")}, "different names"),
        ({"samples": np.zeros((5, 3))}, r"shape \(5, 3\)"),
        ({"samples": np.zeros((0, 2)), "marks": ()}, "0 samples"),
        ({"samples": np.zeros((3700, 2)), "period_s": 1.0}, "3700 samples; allowed: 1 to 3602"),
        ({"marks": [Mark(first=0, last=5, step=1, kind="joint")]}, "samples 0 to 5"),
        ({"marks": [Mark(first=3, last=2, step=1, kind="joint")]}, "rising"),
        ({"marks": [MARKS[1], MARKS[0]]}, "rising"),
        ({"marks": [Mark(first=0, last=4, step=1, kind="line")]}, "lacks its start"),
        (
            {"marks": [msgspec.structs.replace(MARKS[1], end_m=(0.0, math.nan, 0.0))]},
            "needs finite ends",
        ),
        ({"marks": [msgspec.structs.replace(MARKS[0], tolerance_m=1.0)]}, "is not a line"),
    ],
)
def test_what_is_no_motion_is_refused(given, text):
    with pytest.raises(CommandError, match=text):
        motion(**given)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_motion_are_refused_with_one_kind_of_error(data):
    with pytest.raises(CommandError):
        Motion.from_bytes(data)


@given(st.integers(0, 10_000), st.integers(0, 255))
def test_changed_bytes_are_refused_or_make_another_digest(at, value):
    data = bytearray(motion().to_bytes())
    at %= len(data)
    if data[at] == value:
        return
    data[at] = value
    try:
        changed = Motion.from_bytes(bytes(data))
    except CommandError:
        return
    assert changed.digest != motion().digest


def test_half_a_sample_is_refused():
    wire = msgspec.msgpack.decode(motion().to_bytes())
    wire["samples"] = wire["samples"][:-8]
    with pytest.raises(CommandError, match="do not divide by 2 axes"):
        Motion.from_bytes(msgspec.msgpack.encode(wire))
