"""What the loop commands of an RV-2AJ that is led by packets: each sample leaves at once, in the tick that wants it."""

from __future__ import annotations

from drivers._rv2aj_causes import Wait
from drivers._rv2aj_commands import Commands
from drivers._rv2aj_control import Control
from drivers._rv2aj_course import Course
from drivers._rv2aj_mxt import MxtStream
from drivers._rv2aj_mxt_codec import joint_data
from drivers._rv2aj_settings import Rv2ajSettings
from drivers._rv2aj_targets import Degrees
from hil.errors import LinkOverrun


class StreamedCommands(Commands):
    """Commands of one connection whose targets go by packets.

    Args:
        settings: joint range, and how far behind the arm is.
        control: which axes are held.
        course: where the arm is.
        wait: of targets that would have to wait; here none does.
        stream: takes them.
    """

    def __init__(
        self, settings: Rv2ajSettings, control: Control, course: Course, wait: Wait, stream: MxtStream
    ) -> None:
        super().__init__(settings, control, course, wait)
        self._stream, self._follows_s, self._name = stream, settings.follows_s, settings.port_url

    def _want(self, target: Degrees, row: int | None, due_s: float, now_s: float) -> float:
        """Send it, as it was certified if it is of a certified motion."""
        if not self._control.carries:
            self._control.restarting = True
            raise LinkOverrun(
                f"{self._name}: our program is started anew after the stop; nothing is skipped, the motion waits",
                self._name,
            )
        table = self._course.table
        data = joint_data(target) if row is None or table is None else table.line(row)
        self._stream.lead(data, row, now_s)
        return min(due_s, now_s + self._follows_s)
