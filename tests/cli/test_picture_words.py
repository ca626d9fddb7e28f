"""The age of the camera's picture on the screens of who drives and who watches."""

from __future__ import annotations

import io
import time
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from rich.console import Console
from wire_samples import SERVER

from hil.cli import drive, watch
from hil.service import wire
from hil.service.client import AsyncArm
from hil.service.lab_request import Access
from hil.workbench.jog_pad import Pad

SERVER_S = 1000.0


class Standing(AsyncArm):
    """Its server's clock stands, however slow this machine is."""

    standing_s = SERVER_S

    @property
    def now_s(self) -> float:
        return self.standing_s


def far_arm(*, needed: bool = False, on_site: bool = False, camera: bool = True, newest_s: float | None = 0.2) -> Any:
    """An arm as `hil drive` and `hil watch` have it, without a line: just welcomed, pictures up to 1 s old count."""
    welcome = next(each for each in SERVER if isinstance(each, wire.Welcome))
    telemetry = next(each for each in SERVER if isinstance(each, wire.Telemetry))
    rules = msgspec.structs.replace(welcome.rules, picture_needed=needed, picture_age_s=1.0)
    channel = Standing(Access(url="http://127.0.0.1:9"), "lynx6")
    channel.welcome = msgspec.structs.replace(welcome, rules=rules, camera=camera, on_site=on_site)
    channel._news.telemetry = msgspec.structs.replace(telemetry, picture_age_s=newest_s, now_s=SERVER_S)
    return SimpleNamespace(arm="lynx6", welcome=channel.welcome, channel=channel, mode=channel.mode)


def driving_screen(arm: Any, *, seen_s: float | None = None, camera: bool = False) -> str:
    """What `hil drive` shows; with a camera the picture that was followed arrived `seen_s` ago."""
    arm.channel.picture_s = None if seen_s is None else SERVER_S - seen_s
    driving = drive._Driving(arm, Pad(drive._AxesOf.welcome(arm.welcome), 25.0, served=True), None, by_hand=True)
    driving._looking = camera
    return shown(driving.screen())


def watching_screen(arm: Any) -> str:
    return shown(watch._screen(arm))


def shown(what: Any) -> str:
    page = io.StringIO()
    Console(file=page, width=200).print(what)
    return page.getvalue()


def test_a_driver_who_looks_reads_the_age_of_the_picture_seen() -> None:
    screen = driving_screen(far_arm(), seen_s=0.4, camera=True)
    assert "picture 0.4 s old" in screen
    assert "OLD" not in screen


def test_a_driver_reads_that_the_picture_is_old_although_the_camera_has_a_newer_one() -> None:
    assert "OLD PICTURE: picture 3.0 s old, 1 s count" in driving_screen(far_arm(), seen_s=3.0, camera=True)


def test_a_driver_who_looks_and_sees_nothing_yet_is_told() -> None:
    assert "no picture yet" in driving_screen(far_arm(), camera=True)


def test_a_driver_who_needs_a_picture_is_told_how_to_get_one() -> None:
    assert "with --camera" in driving_screen(far_arm(needed=True))


@pytest.mark.parametrize("arm", [far_arm(), far_arm(needed=True, on_site=True), far_arm(needed=True, camera=False)])
def test_a_driver_reads_nothing_of_pictures_where_none_counts(arm: Any) -> None:
    assert "picture" not in driving_screen(arm)


def test_a_watcher_reads_that_the_picture_is_too_old_where_drivers_need_one() -> None:
    assert "OLD PICTURE: picture 3.0 s old, 1 s count" in watching_screen(far_arm(needed=True, newest_s=3.0))
    assert "picture 3.0 s old" in watching_screen(far_arm(newest_s=3.0))
    assert "OLD" not in watching_screen(far_arm(newest_s=3.0))


def test_a_watcher_reads_that_a_camera_which_is_needed_has_given_nothing() -> None:
    assert "no picture yet" in watching_screen(far_arm(needed=True, newest_s=None))
    assert "picture" not in watching_screen(far_arm(newest_s=None))


def test_lines_for_a_pipe_say_that_the_picture_is_old(capsys: pytest.CaptureFixture[str]) -> None:
    arm = far_arm(needed=True, newest_s=3.0)
    arm.telemetry = arm.channel.telemetry
    watch._by_lines(arm, time.monotonic() + 0.01, as_json=False)
    assert "OLD PICTURE: picture 3.0 s old" in capsys.readouterr().out


def test_a_picture_grows_older_while_no_telemetry_comes() -> None:
    arm = far_arm(needed=True)
    arm.channel.standing_s = SERVER_S + 5.0
    assert "OLD PICTURE: picture 5.2 s old" in watching_screen(arm)
