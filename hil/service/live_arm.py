"""What is known of an arm from its worker's reports: pose, tool, timing, stop budget, and the telemetry made of it."""

from __future__ import annotations

import math
import random
from collections import Counter, deque

from hil.model.rig import AxisKind, Rig
from hil.model.start_tolerance import START_TOLERANCE
from hil.motion.stops import stop_time_s
from hil.robot import Robot
from hil.runtime.jog_source import HOLD_S
from hil.service.arm_channel import ArmReport
from hil.service.grants import Point
from hil.service.lamp import lamp
from hil.service.rest_forecast import RestForecast
from hil.service.stop_budget import Live, budget, stop_figures
from hil.service.uploads import UploadVerdict
from hil.service.wire import AxisInfo, FollowTarget, JogHold, JogStep, LeaseBrief, StopBudget, Telemetry, Timing
from hil.space.body import LiveBody
from hil.types import AxisGoal, AxisJog, JogFrame, Mode, ToolJog

WINDOW_S = 1.0
BITS_PER_BYTE = 10
_FAR_M = 10.0
_POSES, _SEEN_OFTEN = 1000, 20
_WORKED_OUT_S = 0.05
"""The stop budget is worked out anew when it is older."""


class LiveArm:
    """Follows one arm."""

    def __init__(self, rig: Rig) -> None:
        self.report: ArmReport | None = None
        self.tool_m: Point | None = None
        self.trouble = ""
        """Words of the last fault; empty while there is none."""
        self.turn_speed_rad_s = min(axis.speed for axis in rig.axes if axis.kind is not AxisKind.GRIPPER)
        self.axes = tuple(
            AxisInfo(
                name=axis.name,
                kind=axis.kind.value,
                lower=axis.lower + axis.soft_margin,
                upper=axis.upper - axis.soft_margin,
                speed=axis.speed,
                home=axis.home,
                park=axis.park,
            )
            for axis in rig.axes
        )
        self._bands = tuple(axis.divergence for axis in rig.axes)
        self._rig, self._robot, self._body = rig, Robot(rig.robot), LiveBody(rig)
        self._figures = stop_figures(rig, rig.controller.line_time_s())
        self._stop_s = stop_time_s(rig)
        self._always_clear = self._never_broken()
        self._forecast = RestForecast(rig)
        self._window: deque[tuple[float, ArmReport]] = deque()
        self._tool_speed_m_s = 0.0
        self._input_age_s = 0.0
        self._samples = 0
        self._refusal = ""
        self._frame = 0
        self._budget: tuple[float, StopBudget] | None = None

    # -- what comes in -----------------------------------------------------------------------------------

    def take(self, report: ArmReport, now_s: float) -> None:
        """A report came."""
        before, before_m = self.report, self.tool_m
        self.report = report
        self._window.append((now_s, report))
        while self._window[0][0] < now_s - WINDOW_S:
            self._window.popleft()
        pose = self.pose
        self._forecast.add(report.t_s, pose)
        if before is None or before.commanded != report.commanded:
            self.tool_m = None if pose is None else self._tool(pose)
        step_s = 0.0 if before is None else report.t_s - before.t_s
        if self.tool_m is not None and before_m is not None and step_s > 0.0:
            way_m = sum((a - b) ** 2 for a, b in zip(self.tool_m, before_m, strict=True)) ** 0.5
            self._tool_speed_m_s = way_m / step_s
        for event in report.events:
            if event.startswith("refused: "):
                self._refusal = event.removeprefix("refused: ")
            if "-> fault: " in event or "-> estop: " in event:
                self.trouble = event.partition(": ")[2]
            elif "-> idle" in event:
                self.trouble = ""

    def heard(self, age_s: float) -> None:
        """A command or a beat came in, so old."""
        self._input_age_s = age_s

    def loaded(self, preview: UploadVerdict) -> None:
        """A motion is about to run."""
        self._samples = round(preview.duration_s / self._rig.period_s) + 1

    def forget(self) -> None:
        """The worker is gone; nothing is known any more."""
        self.report = self.tool_m = None
        self._window.clear()
        self._forecast.add(0.0, None)
        self._tool_speed_m_s = 0.0
        self._budget = None

    # -- what is so --------------------------------------------------------------------------------------

    @property
    def pose(self) -> tuple[float, ...] | None:
        """Where every axis was sent last; None while one of them was never driven."""
        if self.report is None:
            return None
        known = tuple(position for position in self.report.commanded if position is not None)
        return known if len(known) == len(self._rig.axes) else None

    @property
    def parked(self) -> bool:
        """Whether the arm stands in its park pose."""
        return self.report is not None and all(
            position is not None and abs(position - axis.park) <= START_TOLERANCE[axis.kind]
            for axis, position in zip(self._rig.axes, self.report.commanded, strict=True)
        )

    @property
    def alarmed(self) -> bool:
        """Whether command and report have parted."""
        return self.report is not None and bool(self.report.alarm)

    def share(self, silence_s: float, now_s: float) -> float:
        """Part of the rig's speeds that the stop budget allows."""
        found = self.stop(silence_s, now_s)
        return 1.0 if found is None else found.speed_share

    def stop(self, silence_s: float, now_s: float) -> StopBudget | None:
        """The stop budget; None while the pose is not known."""
        report, pose = self.report, self.pose
        if report is None or pose is None:
            return None
        if self._budget is not None and now_s - self._budget[0] < _WORKED_OUT_S:
            return self._budget[1]
        found = budget(
            self._figures,
            Live(
                input_age_s=self._input_age_s,
                silence_s=silence_s,
                late_s=max((each.late_s for _, each in self._window), default=0.0),
                clearance_m=self._clearance_m(pose),
                tool_speed_m_s=self._tool_speed_m_s if report.mode in (Mode.STREAMING, Mode.STOPPING) else 0.0,
            ),
        )
        self._budget = now_s, found
        return found

    def goal_of(self, message: JogHold | JogStep | FollowTarget) -> Point | None:
        """Where a jog would bring the tool, its stop included; None while the pose is not known."""
        pose, tool_m = self.pose, self.tool_m
        if pose is None or tool_m is None:
            return None
        if isinstance(message, FollowTarget):
            return self._beyond(message, tool_m)
        # What is held counts for a while, and then the arm slows down.
        times = 1.0 if isinstance(message, JogStep) else HOLD_S + self._stop_s
        move = message.move
        if isinstance(move, AxisJog):
            if len(move.amounts) != len(pose):
                return None
            return self._tool([at + times * amount for at, amount in zip(pose, move.amounts, strict=True)])
        along = self._in_world(move, pose)
        return (tool_m[0] + times * along[0], tool_m[1] + times * along[1], tool_m[2] + times * along[2])

    def _beyond(self, message: FollowTarget, here: Point) -> Point | None:
        """Where a target would bring the tool, and as far beyond as it goes on while it stops."""
        target = message.target
        if isinstance(target, AxisGoal):
            if len(target.positions) != len(self._rig.axes):
                return None
            there = self._tool(target.positions)
        else:
            there = target.position_m
        way_m = math.dist(there, here)
        more = self._tool_speed_m_s * self._stop_s / way_m if way_m > 0.0 else 0.0
        x, y, z = (at + more * (at - now) for at, now in zip(there, here, strict=True))
        return (x, y, z)

    def _in_world(self, move: ToolJog, pose: tuple[float, ...]) -> Point:
        if move.frame is JogFrame.WORLD:
            return move.linear
        turned = self._robot.forward_kinematics(pose[: self._robot.dof])[:3, :3] @ move.linear
        return (float(turned[0]), float(turned[1]), float(turned[2]))

    def _tool(self, pose: list[float] | tuple[float, ...]) -> Point:
        x, y, z = self._robot.forward_kinematics(pose[: self._robot.dof])[:3, 3].tolist()
        return (x, y, z)

    def _clearance_m(self, pose: tuple[float, ...]) -> float | None:
        """From the arm to the nearest thing: what is left above the rig's own clearance, and that."""
        found = self._body.violations(pose[: self._robot.dof], -_FAR_M)
        margins_m = [margin_m for index, margin_m in found if index not in self._always_clear]
        return max(0.0, min(margins_m) + self._rig.fences.clearance_m) if margins_m else None

    def _never_broken(self) -> frozenset[int]:
        """Constraints that no pose of the arm breaks, as far as many of them tell: a turret above its own table."""
        chance = random.Random(0)
        joints = self._rig.axes[: self._robot.dof]
        seen: Counter[int] = Counter()
        broken: set[int] = set()
        for _ in range(_POSES):
            for index, margin_m in self._body.violations([chance.uniform(j.lower, j.upper) for j in joints], -_FAR_M):
                seen[index] += 1
                if margin_m <= 0.0:
                    broken.add(index)
        return frozenset(index for index, times in seen.items() if times >= _SEEN_OFTEN) - broken

    # -- what goes out -----------------------------------------------------------------------------------

    def telemetry(
        self, now_s: float, lease: LeaseBrief, silence_s: float, picture_age_s: float | None,
        starting_s: float | None = None,
    ) -> Telemetry:  # fmt: skip
        """The newest report, as everybody who watches gets it; `starting_s` is for how long it has been coming up."""
        report = self.report
        assert report is not None
        self._frame += 1
        nothing: tuple[float | None, ...] = (None,) * len(self._rig.axes)
        stop = self.stop(silence_s, now_s)
        spent_s = sum(each.written_bytes for _, each in self._window) * BITS_PER_BYTE / self._rig.controller.baud
        errors = report.errors or nothing
        done = report.sample is not None and self._samples > 1
        return Telemetry(
            frame=self._frame,
            now_s=now_s,
            tick=report.tick,
            t_s=report.t_s,
            mode=report.mode,
            commanded=report.commanded,
            simulated=report.simulated,
            reported=nothing if report.reported is None else report.reported,
            source=report.source,
            reported_s=report.wire_s,
            tool_m=self.tool_m,
            speed_share=1.0 if stop is None else stop.speed_share,
            wire_share=min(1.0, spent_s / WINDOW_S),
            timing=Timing(
                late_ms=1e3 * max(each.late_s for _, each in self._window),
                work_ms=1e3 * max(each.work_s for _, each in self._window),
                missed=report.missed,
            ),
            stop=stop,
            lease=lease,
            picture_age_s=picture_age_s,
            progress=min(1.0, (report.sample or 0) / (self._samples - 1)) if done else None,
            refusal=self._refusal,
            errors=errors,
            bands=self._bands,
            used=tuple(
                None if error is None else abs(error) / band for error, band in zip(errors, self._bands, strict=True)
            ),
            alarm=report.alarm,
            lamp=lamp(report.mode, lease, alarm=bool(report.alarm), starting=starting_s is not None),
            starting_s=starting_s,
            rest=() if stop is None else self._forecast.rest(1e-3 * (stop.input_ms + stop.loop_ms)),
        )
