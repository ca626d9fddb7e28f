"""Rig files: the bundled ones are sane and stand clear of everything; every fault of one is named."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from controllers import CONTROLLERS

from drivers import _ssc32_settings
from hil.errors import ConfigError, ConfigErrors
from hil.model import _rig_file, _robot_file
from hil.model.files import bundled_dir
from hil.model.reader import load_rig
from hil.model.rig import AxisKind, Rig, digest_of
from hil.model.servo import DriveServo, HobbyServo
from hil.units import DEG, MM

BUNDLED = sorted(path.stem for path in (bundled_dir() / "rigs").glob("*.toml"))
LYNX6 = (bundled_dir() / "rigs" / "lynx6.toml").read_text()


def load_text(tmp_path: Path, text: str, name: str = "desk") -> Rig:
    path = tmp_path / f"{name}.toml"
    path.write_text(text)
    return load_rig(path, CONTROLLERS)


def frames(rig: Rig, q: tuple[float, ...]) -> list[npt.NDArray[np.float64]]:
    """Base frame and DH frames of all links, from the definition of the table."""
    poses = [np.array(rig.robot.base)]
    for joint, value in zip(rig.robot.joints, q, strict=False):
        theta = joint.theta_rad + joint.sign * value
        c, s, ca, sa = math.cos(theta), math.sin(theta), math.cos(joint.alpha_rad), math.sin(joint.alpha_rad)
        step = [
            [c, -s * ca, s * sa, joint.a_m * c],
            [s, c * ca, -c * sa, joint.a_m * s],
            [0, sa, ca, joint.d_m],
            [0, 0, 0, 1],
        ]
        poses.append(poses[-1] @ np.array(step))
    return poses


def clearances(rig: Rig, q: tuple[float, ...]) -> dict[tuple[str, str], float]:
    """Distance of every shape from table, walls and the shapes that are not its neighbours, in metres."""
    poses, fences, along = frames(rig, q), rig.fences, np.linspace(0, 1, 60)[:, None]
    rods = {}
    for shape in rig.shapes:
        points = np.array(shape.start_m) * (1 - along) + np.array(shape.end_m) * along
        rods[shape.name] = (points @ poses[shape.link][:3, :3].T + poses[shape.link][:3, 3], shape.radius_m)
    found = {}
    for name, (points, radius) in rods.items():
        if name not in fences.stands_on_table:
            found[name, "table"] = points[:, 2].min() - radius - fences.table_height_m
        if fences.keep_in is not None:
            low, high = np.array(fences.keep_in.lower_m), np.array(fences.keep_in.upper_m)
            found[name, "walls"] = min((points - low).min(), (high - points).min()) - radius
    touching = {frozenset(pair) for pair in fences.neighbours}
    for one, two in itertools.combinations(rods, 2):
        if frozenset((one, two)) not in touching:
            gap = np.linalg.norm(rods[one][0][:, None] - rods[two][0][None], axis=2).min()
            found[one, two] = gap - rods[one][1] - rods[two][1]
    return found


def test_the_rigs_of_the_lab_are_there() -> None:
    assert {"al5d", "lynx6", "lynx6-4axis", "lynx6-bench"} <= set(BUNDLED)


@pytest.mark.parametrize("name", BUNDLED)
@pytest.mark.parametrize("pose", ["home", "park"])
def test_home_and_park_keep_their_distance_from_everything(name: str, pose: str) -> None:
    rig = load_rig(name, CONTROLLERS)
    for pair, distance_m in clearances(rig, getattr(rig, pose)).items():
        assert distance_m > rig.fences.clearance_m, pair


@pytest.mark.parametrize("name", BUNDLED)
def test_every_axis_stops_within_600_ms_even_while_still_accelerating(name: str) -> None:
    for axis in load_rig(name, CONTROLLERS).axes:
        turn_s = axis.acceleration / axis.jerk
        assert axis.speed / axis.acceleration + 2 * turn_s < 0.6, axis.name
        assert axis.speed < axis.servo_speed


@pytest.mark.parametrize("name", BUNDLED)
def test_every_pose_within_the_limits_can_be_told_to_the_controller(name: str) -> None:
    rig = load_rig(name, CONTROLLERS)
    low, high = rig.controller.bounds()
    for index, axis in enumerate(rig.axes):
        assert low[index] - 1e-9 <= axis.lower < axis.home < axis.upper <= high[index] + 1e-9
    quantised = rig.controller.quantise(np.array(rig.park))
    assert np.all(np.abs(quantised - rig.park) <= rig.controller.quantum())


def test_the_lynx6_reaches_down_to_the_table_in_front_of_it() -> None:
    rig = load_rig("lynx6", CONTROLLERS)
    grasp = (0.0, 60 * DEG, -80 * DEG, -70 * DEG, 0.0, 0.01)
    assert frames(rig, grasp)[-1][:3, 3] == pytest.approx([0.1728, 0.0, 0.0235], abs=1e-3)
    assert min(clearances(rig, grasp).values()) > rig.fences.clearance_m


def test_numbers_arrive_in_metres_radians_and_seconds() -> None:
    rig = load_rig("lynx6", CONTROLLERS)
    shoulder, gripper = rig.axes[1], rig.axes[5]
    assert (shoulder.lower, shoulder.park, shoulder.speed) == (2 * DEG, 172 * DEG, 45 * DEG)
    assert (gripper.kind, gripper.upper, gripper.speed) == (AxisKind.GRIPPER, 27 * MM, 30 * MM)
    assert (rig.period_s, rig.look_ahead_s, rig.tool_speed_m_s) == (0.02, 0.06, 0.25)
    assert rig.axes[rig.energise_order[0]].name == "shoulder"
    assert rig.gripper == 5


def test_pulses_fall_where_the_source_gives_a_negative_sign() -> None:
    rig = load_rig("lynx6", CONTROLLERS)
    assert rig.controller.quantise(np.array([0.0, 90 * DEG, 0.0, 0.0, 0.0, 19.05 * MM])) == pytest.approx(
        [0.0, 90 * DEG, 0.0, 0.0, 0.0, 19.05 * MM]
    )
    base, shoulder = settings_points(rig, "base"), settings_points(rig, "shoulder")
    assert base[0][1] > base[-1][1]
    assert shoulder[0][1] < shoulder[-1][1]


def settings_points(rig: Rig, name: str) -> tuple[tuple[float, float], ...]:
    axes = {axis.name: axis.points for axis in rig.controller.axes}  # type: ignore[attr-defined]
    points: tuple[tuple[float, float], ...] = axes[name]
    return points


def test_a_rig_takes_from_its_parent_what_it_does_not_say_itself(tmp_path: Path) -> None:
    parent, child = load_rig("lynx6", CONTROLLERS), load_rig("lynx6-bench", CONTROLLERS)
    assert (child.id, child.period_s) == ("lynx6-bench", 0.004)
    assert child.axes == parent.axes
    assert child.controller.port_url == parent.controller.port_url
    assert child.digest != parent.digest
    grandchild = load_text(tmp_path, 'inherit = "lynx6-bench"\nadapter_serial = "A1"\n')
    assert (grandchild.period_s, grandchild.adapter_serial) == (0.004, "A1")


def test_lists_of_a_parent_are_replaced_whole(tmp_path: Path) -> None:
    child = 'inherit = "lynx6"\n[fences]\nstands_on_table = ["pedestal", "turret"]\n'
    assert load_text(tmp_path, child).fences.stands_on_table == ("pedestal", "turret")


def test_one_joint_of_an_inherited_rig_is_changed_by_its_name(tmp_path: Path) -> None:
    parent = load_rig("lynx6", CONTROLLERS)
    child = load_text(tmp_path, 'inherit = "lynx6"\n[joints.elbow]\nspeed_deg_s = 20\n')
    assert child.axes[2].speed == pytest.approx(20 * DEG)
    assert msgspec.structs.replace(child.axes[2], speed=parent.axes[2].speed) == parent.axes[2]
    assert [axis.name for axis in child.axes] == [axis.name for axis in parent.axes]
    boxes = 'inherit = "lynx6"\n[shapes.camera]\nlink = 5\nstart_mm = [0,0,0]\nend_mm = [0,0,9]\nradius_mm = 9\n'
    assert load_text(tmp_path, boxes).shapes[-1].name == "camera"
    with pytest.raises(ConfigError, match=r"joints.*elbw.*allowed: the 5 joints"):
        load_text(tmp_path, 'inherit = "lynx6"\n[joints.elbw]\nspeed_deg_s = 20\n')


def test_a_circle_of_parents_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text('inherit = "./two.toml"\n')
    with pytest.raises(ConfigError, match=r"does not inherit from this one. two -> one -> two"):
        load_text(tmp_path, 'inherit = "./one.toml"\n', "two")


def test_an_unknown_parent_is_refused_with_the_names_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"desk\.toml: inherit: 'lynx' given; .*Did you mean 'lynx6'"):
        load_text(tmp_path, 'inherit = "lynx"\n')
    with pytest.raises(ConfigError, match="inherit: 3 given; allowed: the name or path of one rig"):
        load_text(tmp_path, "inherit = 3\n")


def test_a_fault_of_a_parent_is_reported_under_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "parent.toml").write_text(LYNX6.replace("home_deg = 90", "home_deg = 190"))
    with pytest.raises(ConfigError) as error:
        load_text(tmp_path, 'inherit = "./parent.toml"\ntitle = "child"\n')
    assert Path(error.value.file).name == "parent.toml"


def test_what_is_told_to_people_alone_leaves_certificates_and_old_journals_valid() -> None:
    rig = load_rig("lynx6", CONTROLLERS)
    axes = tuple(msgspec.structs.replace(axis, stall_torque_n_m=9.0) for axis in rig.axes)
    assert msgspec.structs.replace(rig, axes=axes, park_source="measured by nobody").digest == rig.digest
    slower = tuple(msgspec.structs.replace(axis, speed=0.9 * axis.speed) for axis in rig.axes)
    assert msgspec.structs.replace(rig, axes=slower).digest != rig.digest


def test_the_digest_covers_limits_and_calibration_but_not_the_place_of_the_file(tmp_path: Path) -> None:
    original = load_rig("lynx6", CONTROLLERS).digest
    assert load_text(tmp_path, LYNX6, "lynx6").digest == original
    assert load_text(tmp_path, LYNX6.replace("[0, 1460]", "[0, 1461]"), "lynx6").digest != original
    assert load_text(tmp_path, LYNX6.replace("speed_deg_s = 45", "speed_deg_s = 44"), "lynx6").digest != original


FAULTS = [
    # keys and units
    ("lower_deg = -88", "lower_rad = -1.5", "joints.base.lower_rad", "Did you mean `lower_deg`, in degrees?"),
    ("speed_deg_s = 60", "speed_deg = 60", "joints.base.speed_deg", "`speed_deg_s`, in degrees per second?"),
    ("period_ms = 20", "period_s = 0.02", "timing.period_s", "Did you mean `period_ms`, in milliseconds?"),
    ("lower_mm = 1\n", "lower_deg = 1\n", "gripper.lower_deg", "Did you mean `lower_mm`, in millimetres?"),
    ("radius_mm = 50", "radius_cm = 5", "shapes.pedestal.radius_cm", "Did you mean `radius_mm`"),
    ("clearance_mm = 5", "clearence_mm = 5", "fences.clearence_mm", "Did you mean `clearance_mm`"),
    ("[tool]", "[toool]", "toool", "Did you mean `tool`?"),
    (
        "park_deg = 172\n",
        "",
        "joints.shoulder.park_deg",
        "nothing given; allowed: this key is required, in degrees",
    ),
    ("period_ms = 20 ", "period_ms = 20.5 ", "timing.period_ms", "20.5 given; allowed: whole number"),
    ("servo_lag_ms = 50", "servo_lag_ms = '50'", "joints.base.servo_lag_ms", "'50' given; allowed: number"),
    (
        "[tool]\nspeed_mm_s = 250",
        "[tool]\nspeed_mm_s = nan",
        "tool.speed_mm_s",
        "nan given; allowed: a finite number",
    ),
    ("[[-90, 2320]", "[[-inf, 2320]", "controller.axis.base.points_deg_us.0.0", "a finite number"),
    # limits and poses
    ("speed_deg_s = 60", "speed_deg_s = 0", "joints.base.speed_deg_s", "0 given; allowed: number > 0.0"),
    (
        "acceleration_deg_s2 = 200",
        "acceleration_deg_s2 = -1",
        "joints.base.acceleration_deg_s2",
        "number > 0.0",
    ),
    (
        "jerk_deg_s3 = 2000\n",
        "",
        "joints.base.jerk_deg_s3",
        "this key is required, in degrees per second cubed",
    ),
    ("soft_margin_deg = 2", "soft_margin_deg = 0", "joints.base.soft_margin_deg", "number > 0.0"),
    (
        "soft_margin_deg = 2",
        "soft_margin_deg = 88",
        "joints.base.soft_margin_deg",
        "less than 88 deg, half the range",
    ),
    ("lower_deg = -88", "lower_deg = 88", "joints.base.lower_deg", "less than 88"),
    (
        "lower_deg = -88",
        "lower_deg = -91",
        "joints.base.lower_deg",
        "-90 to 90 deg, the limits of robot 'lynx6'",
    ),
    (
        "upper_deg = 178",
        "upper_deg = 180.5",
        "joints.shoulder.upper_deg",
        "0 to 180 deg, the limits of robot",
    ),
    (
        "home_deg = 90",
        "home_deg = 190",
        "joints.shoulder.home_deg",
        "between 4 and 176 deg, not touching them",
    ),
    (
        "home_deg = 90",
        "home_deg = 176",
        "joints.shoulder.home_deg",
        "between 4 and 176 deg, not touching them",
    ),
    (
        "park_deg = 172",
        "park_deg = 4",
        "joints.shoulder.park_deg",
        "limits are 2 to 178 deg, with a soft margin of 2",
    ),
    ("home_mm = 20", "home_mm = 26.5", "gripper.home_mm", "between 1.5 and 26.5 mm"),
    ("speed_deg_s = 60", "speed_deg_s = 261", "joints.base.speed_deg_s", "at most servo_speed_deg_s = 260"),
    # names
    (
        'name = "elbow" ',
        'name = "ellbow"',
        "joints",
        "the 5 joints of robot 'lynx6', in chain order: base, shoulder",
    ),
    ('robot = "lynx6"', 'robot = "lynx6-4axis"', "joints", "the 4 joints of robot 'lynx6-4axis'"),
    ('robot = "lynx6"', 'robot = "lynks6"', "robot", "Did you mean 'lynx6'?"),
    ('name = "gripper" ', 'name = "base" ', "gripper.name", "a name that no joint has"),
    ('["shoulder", "elbow"', '["sholder", "elbow"', "energise_order", "Did you mean 'shoulder'?"),
    ('["shoulder", "elbow"', '["elbow", "elbow"', "energise_order", "every axis once: base, shoulder"),
    # shapes and fences
    (
        "link = 5",
        "link = 6",
        "shapes.palm.link",
        "6 given; allowed: 0 (base) to 5 (last link of robot 'lynx6')",
    ),
    ("link = 5", "link = -1", "shapes.palm.link", "whole number >= 0"),
    ("radius_mm = 50", "radius_mm = 0", "shapes.pedestal.radius_mm", "number > 0.0"),
    ("start_mm = [0, -40, 0]", "start_mm = [0, -40]", "shapes.turret.start_mm", "list of 3 values"),
    ('name = "turret"', 'name = "pedestal"', "shapes.1.name", "a name that no other shape has"),
    (
        'stands_on_table = ["pedestal"]',
        'stands_on_table = ["foot"]',
        "fences.stands_on_table",
        "one of pedestal, turret",
    ),
    ('["turret", "upper_arm"]', '["turret", "upper_am"]', "fences.neighbours", "Did you mean 'upper_arm'?"),
    ('["turret", "upper_arm"]', '["turret", "turret"]', "fences.neighbours", "two different shapes"),
    (
        "upper_mm = [450, 450, 560]",
        "upper_mm = [450, -450, 560]",
        "fences.keep_in.lower_mm",
        "less than upper_mm",
    ),
    # timing and line
    (
        "look_ahead_ms = 60",
        "look_ahead_ms = 50",
        "timing.look_ahead_ms",
        "whole multiple of period_ms = 20. The nearest is 40",
    ),
    (
        "look_ahead_ms = 60",
        "look_ahead_ms = 10",
        "timing.look_ahead_ms",
        "whole multiple of period_ms = 20. The nearest is 20",
    ),
    ("period_ms = 20 ", "period_ms = 0 ", "timing.period_ms", "0 given; allowed: whole number >= 2"),
    (
        "baud = 115200",
        "baud = 9600",
        "timing.period_ms",
        "at 9600 baud; a period of 20 ms with 30 % spare leaves 14.0 ms",
    ),
    # controller
    ('kind = "ssc32"', 'kind = "ssc23"', "controller.kind", "'ssc23' given; allowed: 'rv2aj' or 'ssc32'"),
    ('kind = "ssc32"\n', "", "controller.kind", "nothing given; allowed: 'rv2aj' or 'ssc32'"),
    ("baud = 115200", "speed = 115200", "controller.speed", "no such key here"),
    (
        "lower_us = 545",
        "lower_us = 560",
        "joints.base.upper_deg",
        "to 86.631 deg, what the [controller] table lets through",
    ),
    (
        "upper_us = 2301",
        "upper_us = 2290",
        "joints.base.lower_deg",
        "-88.0 given; allowed: -86.8605 to 88.0749 deg",
    ),
    (
        "[[-90, 2320], [0, 1460], [90, 525]]",
        "[[-90, 525], [0, 1460], [90, 2320]]",
        "controller.axis.base.direction",
        "'falling' given; allowed: \"rising\", as the pulses of points_deg_us run. One of the two is wrong",
    ),
    (
        'direction = "falling"',
        'direction = "up"',
        "controller.axis.base.direction",
        "'up' given",
    ),
    ("lower_us = 545", "lower_us = 499", "controller.axis.base.lower_us", "whole number >= 500"),
    (
        "upper_us = 2483\n\n[controller.axis.wrist]",
        "upper_us = 2501\n\n[controller.axis.wrist]",
        "controller.axis.elbow.upper_us",
        "whole number <= 2500",
    ),
]


@pytest.mark.parametrize(("old", "new", "key", "text"), FAULTS)
def test_a_fault_in_a_rig_is_named(tmp_path: Path, old: str, new: str, key: str, text: str) -> None:
    assert old in LYNX6
    with pytest.raises(ConfigError) as error:
        load_text(tmp_path, LYNX6.replace(old, new, 1))
    assert error.value.file == str(tmp_path / "desk.toml")
    assert error.value.key == key
    assert text in str(error.value)


def test_a_line_that_does_not_fit_is_refused_with_the_arithmetic(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        load_text(tmp_path, LYNX6.replace("baud = 115200", "baud = 9600"))
    line_ms = load_rig("lynx6", CONTROLLERS).controller.line_time_s() * 1000
    assert line_ms < 14
    assert "The longest move plus the longest query take 83.3 ms at 9600 baud" in str(error.value)
    assert "allowed: at least 120 at 9600 baud" in str(error.value)
    assert "Raise controller.baud (here and on the board), or period_ms" in str(error.value)
    slow = LYNX6.replace("baud = 115200", "baud = 9600").replace("period_ms = 20 ", "period_ms = 120 ")
    assert load_text(tmp_path, slow.replace("look_ahead_ms = 60", "look_ahead_ms = 120")).period_s == 0.12


def test_a_joint_may_not_be_faster_than_its_robot(tmp_path: Path) -> None:
    text = (bundled_dir() / "rigs" / "al5d.toml").read_text()
    fast = text.replace("speed_deg_s = 40", "speed_deg_s = 195").replace(
        "servo_speed_deg_s = 190", "servo_speed_deg_s = 200"
    )
    with pytest.raises(ConfigError, match=r"joints\.shoulder\.speed_deg_s: 195\.0 given; allowed: at most 190"):
        load_text(tmp_path, fast)


def test_a_keep_out_box_is_read_and_its_corners_are_checked(tmp_path: Path) -> None:
    box = '[[fences.keep_out]]\nname = "supply"\nlower_mm = [-180, 120, 0]\nupper_mm = [-60, 240, 90]\n'
    rig = load_text(tmp_path, LYNX6 + box)
    assert rig.fences.keep_out[0].upper_m == pytest.approx((-0.06, 0.24, 0.09))
    with pytest.raises(ConfigError, match=r"fences\.keep_out\.supply\.lower_mm"):
        load_text(tmp_path, LYNX6 + box.replace("-180", "-60"))


def test_the_guide_explains_every_key_of_rigs_and_robots() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "rigs.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"`(\w+)`", guide))
    headings = set(re.findall(r"`\[+(\w+)\]+`", guide))
    for module in (_rig_file, _robot_file, _ssc32_settings):
        for record in vars(module).values():
            if isinstance(record, type) and issubclass(record, msgspec.Struct) and record.__name__.endswith("Table"):
                keys = {field.encode_name for field in msgspec.structs.fields(record)}
                assert keys <= explained | headings, record


def with_servo(table: str, lag_ms: float = 60.0) -> str:
    """The Lynx6 whose base has a servo of its own."""
    return LYNX6.replace("servo_lag_ms = 50", f"servo_lag_ms = {lag_ms}\nservo = {{ {table} }}", 1)


def test_a_servo_is_read_in_radians_and_seconds(tmp_path: Path) -> None:
    text = with_servo(
        'kind = "hobby", frequency_hz = 4, damping = 0.6, dead_band_deg = 1, backlash_deg = 0.5, sag_deg_per_n_m = 2'
    )
    rig = load_text(tmp_path, text)
    assert rig.axes[0].servo == HobbyServo(
        frequency_rad_s=pytest.approx(8.0 * math.pi),
        damping=0.6,
        dead_band=pytest.approx(math.radians(1.0)),
        backlash=pytest.approx(math.radians(0.5)),
        sag=pytest.approx(math.radians(2.0)),
    )
    assert all(axis.servo is None for axis in rig.axes[1:])
    drive = load_text(tmp_path, with_servo('kind = "drive", acceleration_deg_s2 = 900'))
    assert drive.axes[0].servo == DriveServo(acceleration=pytest.approx(math.radians(900.0)))


@pytest.mark.parametrize(
    ("table", "lag_ms", "words"),
    [
        (
            'kind = "hobby", frequency_hz = 4',
            60,
            "servo.damping: nothing given; allowed: this key is required of a servo",
        ),
        ('kind = "drive"', 60, "servo.acceleration_deg_s2: nothing given; allowed: this key is required"),
        ('kind = "drive", acceleration_deg_s2 = 9, damping = 1', 60, "no such key of a servo of kind 'drive'"),
        ('kind = "hobby", frequency_hz = 4, damping = 0.9', 60, "servo_lag_ms: 60.0 given; allowed: at least 72"),
        ('kind = "stepper"', 60, "servo.kind: 'stepper' given"),
        ('kind = "hobby", frequency_hz = 0, damping = 0.9', 60, "servo.frequency_hz: 0 given; allowed: number >= 0.2"),
        ('kind = "hobby", frequency_hz = 4, damping = 0.6, dead_band_deg = -1', 60, "servo.dead_band_deg: -1 given"),
        ('kind = "drive", acceleration_mm_s2 = 9', 60, "Did you mean `acceleration_deg_s2`"),
    ],
)
def test_a_servo_that_means_nothing_is_refused_with_what_to_give(tmp_path: Path, table, lag_ms, words) -> None:
    with pytest.raises((ConfigError, ConfigErrors)) as error:
        load_text(tmp_path, with_servo(table, lag_ms))
    assert words in str(error.value)


def test_a_rig_without_a_servo_has_the_digest_from_before_there_were_any(tmp_path: Path) -> None:
    rig = load_rig("lynx6", CONTROLLERS)
    tree = msgspec.to_builtins(rig)
    for axis in tree["axes"]:
        assert axis.pop("servo") is None
    assert digest_of(tree) == rig.digest
    assert load_text(tmp_path, with_servo('kind = "drive", acceleration_deg_s2 = 9', 50), "lynx6").digest != rig.digest
