"""hil watch: an arm of a lab as it moves, or all arms of the lab; reading only, but for a stop."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli._far_arm import headline, lease_words, picture_words, refuse_own_arm, self_test_words
from hil.cli._pose_lines import print_poses
from hil.cli.arms import AsJson
from hil.cli.output import complain, print_json, print_table
from hil.clock import monotonic_s

if TYPE_CHECKING:
    from rich.console import RenderableType

    from hil.service.lab_request import Access
    from hil.service.remote import RemoteArm
    from hil.service.wire import AxisInfo, Lab, Telemetry

SHOW_S = 0.1
LINE_S = 1.0
LAB_S = 1.0
FIRST_S = 5.0


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(watch)


def watch(
    url: Annotated[str | None, typer.Argument(metavar="[URL]", help="An arm, or a lab; none: the only login.")] = None,
    seconds: Annotated[float | None, typer.Option("--for", metavar="SECONDS", help="Leave after so long.")] = None,
    poses: Annotated[
        bool, typer.Option("--poses", help="Print where the arm is, 50 times a second, as lines for hil follow.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Watch an arm, or all arms of a lab. At a terminal space stops the arm (it latches), q leaves."""
    from hil.service.connection import only_login, reach

    if url is not None:
        refuse_own_arm(url, "hil watch")
    access, arm = reach(only_login("hil watch") if url is None else url)
    until_s = float("inf") if seconds is None else monotonic_s() + seconds
    if not arm:
        arm = _only_arm(access)
    if not arm and poses:
        raise typer.BadParameter("are those of one arm: give its address", param_hint="--poses")
    if not arm:
        _watch_lab(access, until_s, as_json=as_json)
        return
    from hil.service.remote import RemoteArm, user_name

    with RemoteArm(access, arm, name=user_name()) as remote:
        until_s = max(until_s, monotonic_s() + SHOW_S)  # something is shown, however long connecting took
        if poses:
            print_poses(remote, until_s)
        elif as_json or not sys.stdout.isatty():
            _by_lines(remote, until_s, as_json=as_json)
        else:
            _live(remote, until_s)
        if remote.channel.over:
            complain(remote.channel.over)
            raise typer.Exit(1)


def _only_arm(access: Access) -> str:
    from hil.service.connection import list_arms

    arms = list_arms(access).arms
    return arms[0].arm if len(arms) == 1 else ""


# -- one arm ---------------------------------------------------------------------------------------------


def _live(arm: RemoteArm, until_s: float) -> None:
    from rich.live import Live

    from hil.cli._keyboard import single_keys
    from hil.cli.output import console

    listening = single_keys() if sys.stdin.isatty() else nullcontext(list)
    with listening as keys, Live(_screen(arm), console=console(), auto_refresh=False) as live:
        while monotonic_s() < until_s and not arm.channel.over:
            for key in keys():
                if key == "q":
                    return
                arm.begin(arm.channel.stop("asked for by a watcher"))
            live.update(_screen(arm), refresh=True)
            time.sleep(SHOW_S)


def _screen(arm: RemoteArm) -> RenderableType:
    from rich.box import SIMPLE
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    channel, seen = arm.channel, arm.channel.telemetry
    table = Table(box=SIMPLE, pad_edge=False)
    for title in ("axis", "commanded", "simulated", "reported", "lower", "upper", "unit"):
        table.add_column(title, justify="left" if title in ("axis", "unit") else "right")
    for index, axis in enumerate(arm.welcome.axes):
        found = (None,) * 3 if seen is None else (seen.commanded[index], seen.simulated[index], seen.reported[index])
        values = [_in_unit(axis, value) for value in (*found, axis.lower, axis.upper)]
        table.add_row(axis.name, *values, _unit(axis))
    lines = [f"{headline(arm.welcome)}   {lease_words(arm)}", *([] if seen is None else _lines(seen, _picture(arm)))]
    said = channel.since(max(0, channel.mark - 5))
    return Group(
        Text(lines[0]),
        Text(channel.mode.value.upper(), style="bold"),
        table,
        *(Text(line) for line in lines[1:]),
        *(Text(f"- {each}") for each in said),
        Text(""),
        Text("space: STOP (it latches; software, no emergency stop)   q: leave"),
    )


def _picture(arm: RemoteArm) -> str:
    """Age of the camera's newest picture, and whether it is too old for a driver who needs one."""
    channel, rules = arm.channel, arm.welcome.rules
    seen = channel.telemetry
    if seen is None or not arm.welcome.camera or (seen.picture_age_s is None and not rules.picture_needed):
        return ""
    # It grows older while no telemetry comes.
    age_s = None if seen.picture_age_s is None else seen.picture_age_s + channel.now_s - seen.now_s
    return picture_words(age_s, rules.picture_age_s if rules.picture_needed else float("inf"))


def _lines(seen: Telemetry, picture: str) -> list[str]:
    """The rest of what is known, in words."""
    tool = "tool unknown"
    if seen.tool_m is not None:
        x, y, z = (1e3 * value for value in seen.tool_m)
        tool = f"tool x {x:z.1f} y {y:z.1f} z {z:z.1f} mm"
    stop = ""
    if seen.stop is not None:
        stop = f"   stops within {seen.stop.total_ms:.0f} ms, {seen.stop.distance_mm:.1f} mm"
    progress = "" if seen.progress is None else f"   {100 * seen.progress:.0f} % of the motion"
    timing = f"late {seen.timing.late_ms:.2f} ms, work {seen.timing.work_ms:.2f} ms, missed {seen.timing.missed}"
    return [f"{tool}{stop}{progress}", f"loop: {timing}   line {100 * seen.wire_share:.0f} %   {picture}".rstrip()]


def _by_lines(arm: RemoteArm, until_s: float, *, as_json: bool) -> None:
    """One line a second where nobody looks at a screen."""
    from hil.service import wire

    due_s = monotonic_s()
    while monotonic_s() < until_s and not arm.channel.over:
        seen = arm.telemetry
        if as_json:
            print(wire.encode(seen).decode(), flush=True)
        else:
            axes = ", ".join(
                f"{axis.name} {_in_unit(axis, value)} {_unit(axis)}"
                for axis, value in zip(arm.welcome.axes, seen.commanded, strict=True)
            )
            picture = _picture(arm) if arm.welcome.rules.picture_needed else ""
            words = "   ".join(each for each in (_lines(seen, "")[0], picture) if each)
            print(f"{arm.mode.value}: {axes}; {words}", flush=True)
        due_s += LINE_S
        time.sleep(max(0.0, min(due_s, until_s) - monotonic_s()))


def _in_unit(axis: AxisInfo, value: float | None) -> str:
    from hil.units import DEG, MM

    return "" if value is None else f"{value / (DEG if axis.kind == 'revolute' else MM):z.2f}"


def _unit(axis: AxisInfo) -> str:
    return "deg" if axis.kind == "revolute" else "mm"


# -- the lab ---------------------------------------------------------------------------------------------

_COLUMNS = ("arm", "title", "", "mode", "who drives", "waiting", "watching", "can be booked", "self-test")


def _watch_lab(access: Access, until_s: float, *, as_json: bool) -> None:
    from hil.service.connection import list_arms

    if as_json or not sys.stdout.isatty():
        lab = list_arms(access)
        if as_json:
            print_json(lab)
        else:
            print_table(lab.server, _COLUMNS, _rows(lab))
        return
    from rich.live import Live

    from hil.cli._keyboard import single_keys
    from hil.cli.output import console

    listening = single_keys() if sys.stdin.isatty() else nullcontext(list)
    with listening as keys, Live(_lab_table(list_arms(access)), console=console(), auto_refresh=False) as live:
        while monotonic_s() < until_s and "q" not in keys():
            live.update(_lab_table(list_arms(access)), refresh=True)
            time.sleep(LAB_S)


def _lab_table(lab: Lab) -> RenderableType:
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(title=lab.server, box=SIMPLE, title_justify="left", pad_edge=False)
    for column in _COLUMNS:
        table.add_column(column)
    for row in _rows(lab):
        table.add_row(*row)
    return table


def _rows(lab: Lab) -> list[tuple[str, ...]]:
    from rich.markup import escape

    return [
        (
            each.arm,
            escape(each.title),
            "REAL" if each.real else "FAKE",
            each.mode.value,
            escape(each.lease.holder or each.lease.phase.value),
            str(each.lease.waiting),
            str(each.watchers),
            "yes" if each.bookable else escape(each.why_not),
            escape(self_test_words(each.self_test)),
        )
        for each in lab.arms
    ]
