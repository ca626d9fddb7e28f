"""The service that a window starts for itself: it says where it is, is known to have ended, and can be begun anew."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from hil.cli._own_service import OwnService
from hil.errors import LinkError
from hil.service.connection import list_arms, reach_arm

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]


@pytest.mark.skipif(sys.platform == "win32", reason="kills by a signal")
def test_one_that_was_killed_is_begun_anew() -> None:
    service = OwnService("lynx6", hardware=False)
    assert not service.ended
    try:
        service.begin()
        service.wait()
        first = service.url
        assert not service.ended
        assert service._child is not None
        os.kill(service._child.pid, signal.SIGKILL)
        service._child.wait()
        assert service.ended
        service.begin()
        service.wait()
        assert service.url.startswith("http://127.0.0.1:") and not service.ended
        access, arm = reach_arm(service.url)
        assert [each.arm for each in list_arms(access).arms] == ["lynx6"] == [arm]
        assert first
    finally:
        service.end()
    assert service.ended


def test_one_that_cannot_start_says_why() -> None:
    service = OwnService("no-such-rig", hardware=False)
    try:
        service.begin()
        with pytest.raises(LinkError, match=r"the local service did not start: .*no-such-rig"):
            service.wait()
    finally:
        service.end()
