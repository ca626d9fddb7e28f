"""Following at a lab: by a client of version 2, judged as a held jog is; a client of version 1 goes on as ever."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest
from lab_server import PATIENCE_S, Served, run, served
from wire_samples import SERVER

from hil.errors import CommandError, InterlockError
from hil.service import wire
from hil.service.client import AsyncArm
from hil.service.following import refuse_rate
from hil.types import AxisGoal, FollowTarget, JogRelease, Mode, ToolGoal
from hil.units import DEG

pytestmark = pytest.mark.wall_clock


def at(lab: Served) -> AsyncArm:
    return AsyncArm(lab.access, "arm-1", name="Ada", rate_hz=50.0)


def sent(lab: Served) -> list[FollowTarget]:
    return [request for request in lab.workers["arm-1"].sent if isinstance(request, FollowTarget)]


class Way:
    """Targets of the base, from where the arm stands."""

    def __init__(self, arm: AsyncArm, most: int) -> None:
        assert arm.telemetry is not None
        self.start = tuple(position or 0.0 for position in arm.telemetry.commanded)
        self.count, self._most = 0, most

    def __call__(self) -> AxisGoal | None:
        self.count += 1
        turned = 5.0 * DEG * (1.0 - math.cos(0.05 * self.count))
        return None if self.count > self._most else AxisGoal(positions=(self.start[0] + turned, *self.start[1:]))


def test_an_arm_is_led_while_the_dead_man_is_held_and_let_go_at_the_end(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, at(lab) as arm:
            await lab.ready()
            await arm.claim()
            assert arm.welcome is not None and arm.welcome.speaks == 2
            await arm.until(lambda: arm.telemetry is not None and arm.telemetry.commanded[0] is not None, PATIENCE_S)
            mark, way = arm.mark, Way(arm, 60)
            await arm.follow(way, lambda: way.count, speed_share=1.0)
            assert await arm.settled(mark, 10.0) is Mode.HOLDING
            assert len(sent(lab)) > 20
            assert any("following targets" in words for words in arm.since(mark))
            assert sent(lab)[-1].positions[0] > 1.0 * DEG
            assert arm.telemetry is not None and (arm.telemetry.commanded[0] or 0.0) > 0.5 * DEG
            # Of an arm that is still slowing down, the next beat, which holds nothing, asks for a stop as well.
            requests = lab.workers["arm-1"].sent
            assert isinstance(requests[requests.index(sent(lab)[-1]) + 1], JogRelease)
            stamps = [target.issued_s for target in sent(lab)]
            assert stamps == sorted(set(stamps))

    run(story)


def test_who_lets_go_of_the_dead_man_stops_the_arm(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, at(lab) as arm:
            await lab.ready()
            await arm.claim()
            await arm.until(lambda: arm.telemetry is not None and arm.telemetry.commanded[0] is not None, PATIENCE_S)
            mark, way = arm.mark, Way(arm, 10_000)
            await arm.follow(way, lambda: 0 if way.count > 40 else way.count)
            assert way.count < 45
            assert await arm.settled(mark, 10.0) is Mode.HOLDING

    run(story)


def test_a_first_target_elsewhere_moves_nothing_and_is_told_in_the_loop_s_words(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, at(lab) as arm:
            await lab.ready()
            await arm.claim()
            mark = arm.mark
            far = ToolGoal(position_m=(2.0, 0.0, 0.0))
            with pytest.raises(InterlockError, match="the tool cannot be at 2000, 0, 0 mm"):
                await arm.follow(lambda: far, lambda: True)
            with pytest.raises(InterlockError, match="the first target is"):
                await arm.follow(lambda: AxisGoal(positions=(1.0,) * 6), lambda: True)
            assert not any("-> streaming" in words for words in arm.since(mark))

    run(story)


def test_a_channel_of_version_1_has_no_targets_and_all_the_rest(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            person = await lab.driver()
            assert person.welcome["speaks"] == 1
            assert (await person.order("arm_jog", speed_share=0.5))["type"] == "accepted"
            goal = {"type": "axes", "positions": [0.0] * 6}
            answer = await person.order("follow_target", v=2, target=goal)
            assert (answer["type"], answer["code"]) == ("refused", "version")
            assert not sent(lab)

    run(story)


@pytest.mark.parametrize("rate_hz", [0.0, 9.0, 61.0, math.nan, math.inf])
def test_a_rate_that_no_loop_takes_and_a_lab_of_before_are_refused(rate_hz: float) -> None:
    welcome = next(message for message in SERVER if isinstance(message, wire.Welcome))
    with pytest.raises(CommandError, match="targets a second; allowed: 10 to 60"):
        refuse_rate(msgspec.structs.replace(welcome, speaks=2), rate_hz)
    with pytest.raises(InterlockError, match="this lab speaks version 1 of the protocol"):
        refuse_rate(msgspec.structs.replace(welcome, speaks=1), 50.0)


def test_the_example_in_the_docs_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    page = (Path(__file__).parents[2] / "docs" / "follow.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0].replace("asyncio.run(main())", "")

    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            names: dict[str, object] = {}
            shorter = code.replace("http://127.0.0.1:8742", lab.url).replace("6.0", "1.0")
            exec(compile(shorter, "docs/follow.md", "exec"), names)
            await names["main"]()  # type: ignore[operator]
            assert len(sent(lab)) > 10

    run(story)
