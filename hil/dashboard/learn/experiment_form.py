"""The fields of an experiment, as both the dynamics and the tuning have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hil.control.experiment import Experiment
from hil.dashboard.learn.dh_file import robot_word
from hil.dashboard.learn.form import FieldKind, Form
from hil.dashboard.learn.view import alike
from hil.errors import HilError
from hil.lessons.experiments import arm_for, experiment_of_fields, first_fields, options_of
from hil.model.robot import RobotModel
from hil.robot import Robot

REFERENCE = (
    FieldKind("to", "to", "degrees (mm), one for each joint, or J2=45,J3=-10"),
    FieldKind("start", "from", "likewise; the arm's home where empty"),
    FieldKind("reference", "reference", "cubic, blended, quintic, trapezoid, jerk-limited or hold"),
    FieldKind("duration", "duration, s"),
    FieldKind("settle", "settle, s", "how long it goes on afterwards"),
    FieldKind("payload", "payload, kg", "at the tool point"),
    FieldKind("gravity", "gravity, m/s2", "x,y,z; 0,0,-9.81 where empty"),
)
CONTROLLER = (
    FieldKind("law", "law", "pd, pid, pd-gravity, pid-gravity or computed-torque"),
    FieldKind("kp", "kp", "one for all joints or one each; both gains, or neither"),
    FieldKind("kd", "kd", "likewise"),
    FieldKind("ki", "ki", "likewise"),
    FieldKind("bandwidth", "bandwidth, Hz", "gains follow from it where none are given"),
    FieldKind("rate", "rate, Hz", "of the controller"),
    FieldKind("delay", "delay, ms", "from measuring to torque"),
    FieldKind("noise", "noise, deg", "of measured positions"),
    FieldKind("resolution", "resolution, deg", "of the encoders"),
    FieldKind("torque_limit", "torque limit, N m", "of the motors"),
    FieldKind("disturb", "from outside", "JOINT:NM:FROM:UNTIL, several with blanks between"),
)


class ExperimentForm(Form):
    """An experiment on one arm, with masses of its file, or estimated where it has none.

    Args:
        more: fields beside it.
        check_more: what they have to be, given all values and the experiment.
    """

    def __init__(
        self,
        more: Sequence[FieldKind] = (),
        check_more: Callable[[Mapping[str, str], Experiment], object] | None = None,
    ) -> None:
        self.arm: Robot | None = None
        self._check_more = check_more
        super().__init__((*more, *REFERENCE, *CONTROLLER), {}, self._check_all)

    @property
    def estimate(self) -> bool:
        """Whether masses are estimated, since no source gives any."""
        return self.arm is not None and self.arm.model.inertia is None

    def set_model(self, model: RobotModel, more: Mapping[str, str]) -> str:
        """Another arm, with a first motion or that of an arm much like it.

        Returns:
            Why nothing can be worked out for it, or nothing.
        """
        keep = self.arm is not None and alike(self.arm.model, model)
        self.arm = Robot(model)
        (self.keep_or_renew if keep else self.renew)({**first_fields(model), **more})
        try:
            self._check_all(self.good)
        except HilError as error:
            return str(error)
        return ""

    def experiment(self) -> Experiment:
        """The good one.

        Raises:
            HilError: there is none, for example since the arm has no masses and none can be estimated.
        """
        return self._experiment(self.good)

    def heavy(self) -> Robot:
        """The arm with the masses that count.

        Raises:
            HilError: as `experiment`.
        """
        assert self.arm is not None
        return arm_for(self.arm, self.experiment())

    def options(self) -> list[str]:
        """Robot and options, as they are typed behind a command."""
        assert self.arm is not None
        return [robot_word(self.arm.model), *options_of(self.good, estimate=self.estimate)]

    def _experiment(self, values: Mapping[str, str]) -> Experiment:
        assert self.arm is not None
        return experiment_of_fields(self.arm, robot_word(self.arm.model), values, estimate=self.estimate)

    def _check_all(self, values: Mapping[str, str]) -> None:
        if self.arm is None:
            return
        experiment = self._experiment(values)
        if self._check_more is not None:
            self._check_more(values, experiment)
