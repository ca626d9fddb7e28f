from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.errors import ConfigError
from hil.kinematics.poses import Convention
from hil.motion.tasks import Gripper, LineStep, Move, Start, Wait, load_task

HEAD = 'title = "t"\n'


def read(tmp_path, text, head=HEAD):
    file = tmp_path / "task.toml"
    file.write_text(head + text, encoding="utf-8")
    return load_task(file)


def step(body):
    return f'[[step]]\ndo = "wait"\nseconds = 1\n[[step]]\n{body}\n'


def test_every_kind_of_step_is_read(tmp_path):
    task = read(
        tmp_path,
        """
rig = "lynx6"
start = { joints_deg = { base = 10 }, opening_mm = 5 }
[[step]]
do = "move"
to = "home"
speed_percent = 50
[[step]]
do = "move"
to_mm = [200, 0, 150]
abc_deg = [0, 90, 0]
convention = "kuka_abc"
[[step]]
do = "line"
by_mm = [0, 0, -50]
speed_mm_s = 40
pitch_deg = -80
[[step]]
do = "wait"
seconds = 0.5
[[step]]
do = "gripper"
opening_mm = 12
label = "grip"
""",
    )
    assert (task.title, task.rig) == ("t", "lynx6")
    assert task.start == Start(joints_deg={"base": 10.0}, opening_mm=5.0)
    assert task.steps == (
        Move(do="move", to="home", speed_percent=50.0),
        Move(do="move", to_mm=(200.0, 0.0, 150.0), abc_deg=(0.0, 90.0, 0.0), convention=Convention.KUKA_ABC),
        LineStep(do="line", by_mm=(0.0, 0.0, -50.0), speed_mm_s=40.0, pitch_deg=-80.0),
        Wait(do="wait", seconds=0.5),
        Gripper(do="gripper", opening_mm=12.0, label="grip"),
    )


@pytest.mark.parametrize(
    ("body", "key", "allowed"),
    [
        ('do = "fly"', "step 2.do", '"move" or "line" or "arc" or "spline"'),
        ("seconds = 1", "step 2.do", '"move" or'),
        ("do = 1", "step 2.do", '"move" or'),
        ('do = "move"\nto = "hom"', "step 2.to", ""),
        ('do = "move"', "step 2.to_mm", "one of to, joints_deg, by_deg, to_mm"),
        ('do = "line"', "step 2.by_mm", "one of to_mm, by_mm"),
        ('do = "move"\nto = "home"\nto_mm = [1, 2, 3]', "step 2.to_mm", "to is given too"),
        (
            'do = "move"\njoints_deg = {base = 1}\nby_deg = {base = 1}',
            "step 2.by_deg",
            "joints_deg is given too",
        ),
        ('do = "line"\nto_mm = [1, 2, 3]\nby_mm = [1, 2, 3]', "step 2.by_mm", "to_mm is given too"),
        ('do = "move"\nto = "home"\npitch_deg = 10', "step 2.pitch_deg", "only together with to_mm"),
        ('do = "move"\nto = "home"\nelbow = "up"', "step 2.elbow", "only together with to_mm"),
        ('do = "move"\nto_mm = [1, 2, 3]\nelbow = "left"', "step 2.elbow", ""),
        ('do = "move"\nto_mm = [1, 2]', "step 2.to_mm", "list of 3 values"),
        ('do = "move"\nto_mm = [1, 2, "3"]', "step 2.to_mm.2", "number"),
        ('do = "move"\nto_mm = [1, 2, true]', "step 2.to_mm.2", "number"),
        ('do = "move"\nto_mm = [1, nan, 3]', "step 2.to_mm.1", "a finite number"),
        ('do = "move"\nto_mm = [1, 2, -inf]', "step 2.to_mm.2", "a finite number"),
        ('do = "move"\nto_mm = [1, 2, 1e308]', "step 2.to_mm.2", "<= 100000"),
        ('do = "move"\njoints_deg = { base = nan }', "step 2.joints_deg.base", "a finite number"),
        (
            'do = "move"\nto_mm = [1, 2, 3]\nabc_deg = [0, 0, 0]',
            "step 2.convention",
            "rpy_xyz_fixed, kuka_abc, melfa",
        ),
        ('do = "move"\nto_mm = [1, 2, 3]\nconvention = "melfa"', "step 2.abc_deg", "go together"),
        (
            'do = "move"\nto_mm = [1, 2, 3]\nabc_deg = [0, 0, 0]\nconvention = "melfa"\nroll_deg = 1',
            "step 2.roll_deg",
            "beside abc_deg",
        ),
        ('do = "move"\nto = "home"\nspeed_percent = 0', "step 2.speed_percent", ">= 1"),
        ('do = "move"\nto = "home"\nspeed_percent = 101', "step 2.speed_percent", "<= 100"),
        ('do = "line"\nto_mm = [1, 2, 3]\nspeed_mm_s = 0', "step 2.speed_mm_s", ">= 0.1"),
        ('do = "line"\nto_mm = [1, 2, 3]\ntolerance_mm = 0', "step 2.tolerance_mm", ">= 0.01"),
        ('do = "line"\nto_mm = [1, 2, 3]\nspeed = 5', "step 2.speed", "no such key"),
        ('do = "wait"', "step 2.seconds", "required"),
        ('do = "wait"\nseconds = 0', "step 2.seconds", "> 0"),
        ('do = "wait"\nseconds = inf', "step 2.seconds", "a finite number"),
        ('do = "wait"\nseconds = 3601', "step 2.seconds", "<= 3600"),
        ('do = "gripper"', "step 2.opening_mm", "required"),
        ('do = "gripper"\nopening_mm = -1', "step 2.opening_mm", ">= 0"),
    ],
)
def test_a_wrong_value_is_named_with_its_step_its_key_and_what_is_allowed(tmp_path, body, key, allowed):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, step(body))
    assert caught.value.key == key
    assert allowed in caught.value.allowed
    assert str(caught.value).startswith(f"{tmp_path / 'task.toml'}: {key}: ")


def test_an_unknown_key_is_told_the_known_ones(tmp_path):
    with pytest.raises(ConfigError, match="Known keys: do, seconds, label"):
        read(tmp_path, step('do = "wait"\nsecond = 1'))


@pytest.mark.parametrize(
    ("text", "key", "allowed"),
    [
        ('title = "t"', "step", "one or more [[step]] tables"),
        ('title = "t"\nstep = []', "step", "1 to 1000"),
        ('title = "t"\nstep = 3', "step", "one or more [[step]] tables"),
        ('[[step]]\ndo = "wait"\nseconds = 1', "title", "required"),
        ('title = "t"\nstart = "there"\n[[step]]\ndo = "wait"\nseconds = 1', "start", ""),
        ('title = "t"\nstart = {joints_deg = {base = nan}}\nstep = []', "start.joints_deg.base", "finite"),
        ('title = "t"\nstart = {hand = 1}\nstep = []', "start.hand", "no such key"),
        ('title = "t"\nspeed = 1\nstep = []', "speed", "no such key"),
        ('title = "t', "line 1", "TOML"),
    ],
)
def test_a_wrong_file_is_named_with_its_key(tmp_path, text, key, allowed):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text, head="")
    assert caught.value.key == key
    assert allowed in caught.value.allowed


def test_too_many_steps_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="1001 given; allowed: 1 to 1000"):
        read(tmp_path, '[[step]]\ndo = "wait"\nseconds = 1\n' * 1001)


def test_a_huge_integer_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"step 2\.seconds: 10{149} \.\.\. 0{150} given"):
        read(tmp_path, step(f'do = "wait"\nseconds = 1{"0" * 400}'))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"No such file .*allowed: a readable task file"):
        load_task(tmp_path / "none.toml")


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "task.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="UTF-8 text"):
        load_task(tmp_path / "task.toml")


def test_a_file_that_is_far_too_long_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="more than 1000000 bytes"):
        read(tmp_path, "#" * 1_000_001)


def test_a_file_that_nests_without_end_is_refused(tmp_path):
    with pytest.raises(ConfigError):
        read(tmp_path, "x = " + "[" * 50_000)


@given(st.text(max_size=200))
def test_any_text_is_a_task_or_a_config_error(tmp_path_factory, text):
    file = tmp_path_factory.mktemp("tasks", numbered=True) / "task.toml"
    file.write_text(HEAD + text, encoding="utf-8", errors="replace")
    with pytest.raises(ConfigError):
        load_task(file)
