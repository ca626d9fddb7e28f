"""Parts of the server by themselves: watchers and their outboxes, the channel to a worker, cameras, previews."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Literal

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st
from lab_server import run

from hil.errors import LinkClosed, LinkError
from hil.runtime.wiring import load_rig
from hil.service.arm_channel import (
    LARGEST_BYTES,
    Ask,
    Beat,
    Ended,
    Frames,
    Leave,
    WorkerEnd,
    decode_to_server,
    decode_to_worker,
    frame,
)
from hil.service.audience import MOST_WAITING, Audience, Outbox
from hil.service.camera import Camera, MotionJpeg, Snapshots
from hil.service.grants import WorkBox
from hil.service.uploads import Job, Shelf, UploadVerdict, judge
from hil.types import Stop

pytestmark = pytest.mark.wall_clock

MESSAGES = (Beat(), Ask(requests=(Stop(reason="x" * 300),)), Leave(reason=""), Beat())


@given(st.lists(st.sampled_from(MESSAGES), max_size=6), st.lists(st.integers(1, 60), min_size=1, max_size=8))
def test_records_come_whole_however_the_stream_is_cut(messages: list[Beat | Ask | Leave], cuts: list[int]) -> None:
    stream, frames, found, at, k = b"".join(map(frame, messages)), Frames(), [], 0, 0
    while at < len(stream):
        piece = stream[at : at + cuts[k % len(cuts)]]
        found += [decode_to_worker(payload) for payload in frames.feed(piece)]
        at, k = at + len(piece), k + 1
    assert found == messages


def test_a_length_that_no_record_has_is_refused() -> None:
    with pytest.raises(LinkError, match="allowed"):
        Frames().feed((LARGEST_BYTES + 1).to_bytes(4, "big"))


def test_a_worker_whose_server_stands_still_never_waits_and_sends_the_rest_later() -> None:
    ours, theirs = socket.socketpair()
    worker = WorkerEnd(theirs)
    while worker.clear:
        worker.send(Ended(words="x" * 10_000, again=True))
    frames, words = Frames(), 0
    ours.setblocking(False)
    for _ in range(10_000):
        try:
            words += len([decode_to_server(payload) for payload in frames.feed(ours.recv(1 << 16))])
        except BlockingIOError:
            if worker.clear:
                break
    assert words > 1
    ours.close()
    with pytest.raises(LinkClosed):
        worker.receive()
    theirs.close()


def test_what_was_asked_before_the_server_went_still_counts() -> None:
    ours, theirs = socket.socketpair()
    worker = WorkerEnd(theirs)
    ours.sendall(frame(Leave(reason="the lab closes")))
    ours.close()
    assert worker.receive() == [Leave(reason="the lab closes")]
    with pytest.raises(LinkClosed):
        worker.receive()
    worker.close()


def test_frames_come_at_the_rate_asked_for_and_are_made_once_for_all() -> None:
    audience, made = Audience(), []
    boxes = {rate: Outbox() for rate in (25.0, 10.0, 1.0, 0.0)}
    for rate, outbox in boxes.items():
        audience.admit(outbox, rate)

    def make(speaks: int) -> bytes:
        made.append(speaks)
        return b"{}"

    for k in range(251):
        audience.show(k * 0.04, make)
    # Nobody takes them out: all but the newest of each are lost.
    assert [boxes[rate].lost + 1 for rate in (25.0, 10.0, 1.0)] == pytest.approx([251, 101, 11], rel=0.2)
    assert boxes[0.0].lost == 0
    assert len(made) == 251


def test_each_gets_frames_of_the_version_that_it_speaks_made_once_for_each_version() -> None:
    audience, made = Audience(), []
    boxes = [(Outbox(), speaks) for speaks in (1, 2, 1, 2)]
    for outbox, speaks in boxes:
        audience.admit(outbox, 10.0, speaks)

    def make(speaks: int) -> bytes:
        made.append(speaks)
        return b"%d" % speaks

    audience.show(1.0, make)
    assert sorted(made) == [1, 2]

    async def sent(outbox: Outbox) -> list[bytes]:
        got: list[bytes] = []

        async def send(data: bytes) -> None:
            got.append(data)
            outbox.close()

        await outbox.run(send)
        return got

    assert [asyncio.run(sent(outbox)) for outbox, _ in boxes] == [[b"1"], [b"2"], [b"1"], [b"2"]]


def test_nothing_is_encoded_for_nobody() -> None:
    def make(speaks: int) -> bytes:
        raise AssertionError

    Audience().show(1.0, make)


def test_a_slow_watcher_gets_the_newest_frame_and_every_message_in_order() -> None:
    async def story() -> None:
        outbox, got, gate = Outbox(), [], asyncio.Event()

        async def send(data: bytes) -> None:
            await gate.wait()
            got.append(data)

        task = asyncio.create_task(outbox.run(send))
        for k in range(100):
            outbox.offer(b"frame %d" % k)
            await asyncio.sleep(0)
        outbox.put(b"one")
        outbox.put(b"two")
        gate.set()
        outbox.close()
        await task
        assert got == [b"frame 0", b"one", b"two"]
        assert outbox.lost == 98

    run(story)


def test_a_channel_that_takes_nothing_is_given_up() -> None:
    async def story() -> None:
        outbox = Outbox()
        task = asyncio.create_task(outbox.run(lambda data: asyncio.sleep(0.05)))
        for _ in range(MOST_WAITING + 1):
            outbox.put(b"news")
        await task
        assert outbox.overrun

    run(story)


def test_snapshots_and_streams_are_fetched_while_wanted_and_stamped_here() -> None:
    asked = []

    async def snapshot(request: web.Request) -> web.Response:
        asked.append(1)
        return web.Response(body=b"picture %d" % len(asked), content_type="image/jpeg")

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "multipart/x-mixed-replace; boundary=b"})
        await response.prepare(request)
        for k in range(200):
            await response.write(b"--b\r\nContent-Type: image/jpeg\r\nContent-Length: 3\r\n\r\n%03d\r\n" % k)
            await asyncio.sleep(0.01)
        return response

    async def story() -> None:
        app = web.Application()
        app.router.add_get("/snapshot", snapshot)
        app.router.add_get("/stream", stream)
        async with TestServer(app) as server:
            for source in (
                Snapshots(str(server.make_url("/snapshot")), rate_hz=50.0),
                MotionJpeg(str(server.make_url("/stream"))),
            ):
                camera = Camera(source)
                assert camera.age_s(0.0) is None
                first = await camera.after(float("-inf"))
                assert first is not None
                second = await camera.after(first.taken_s)
                assert second is not None
                assert second.taken_s > first.taken_s
                assert second.data != first.data
                assert second.content_type == "image/jpeg"
                await camera.close()

    run(story)


def test_a_camera_that_repeats_itself_or_answers_nonsense_ages_and_says_why() -> None:
    async def same(request: web.Request) -> web.Response:
        return web.Response(body=b"always the same", content_type="image/jpeg")

    async def story() -> None:
        app = web.Application()
        app.router.add_get("/same", same)
        async with TestServer(app) as server:
            frozen = Camera(Snapshots(str(server.make_url("/same")), rate_hz=50.0))
            first = await frozen.after(float("-inf"))
            assert first is not None
            assert await frozen.after(first.taken_s, 0.2) is None
            assert "same picture" in frozen.trouble
            await frozen.close()
            for wrong in (Snapshots(str(server.make_url("/none"))), MotionJpeg(str(server.make_url("/same")))):
                camera = Camera(wrong)
                assert await camera.after(float("-inf"), 0.2) is None
                assert camera.trouble
                await camera.close()

    run(story)


def test_a_move_is_judged_by_the_rig_and_by_the_token() -> None:
    rig = load_rig("lynx6")
    rigs = {"arm": rig}
    move = Job(arm="arm", language="move", start=rig.park, goal=rig.home, speed_percent=50.0)
    good = judge(rigs, move)
    assert good.ok
    assert good.peak_share == pytest.approx(0.5, rel=0.01)
    tight = WorkBox(lower_m=(-1.0, -1.0, -1.0), upper_m=(1.0, 1.0, 0.05))
    boxed = judge(rigs, Job(arm="arm", language="move", start=rig.park, goal=rig.home, box=tight))
    assert not boxed.ok
    assert "the token allows" in boxed.words
    wide = WorkBox(lower_m=(-1.0, -1.0, -1.0), upper_m=(1.0, 1.0, 1.0))
    assert judge(rigs, Job(arm="arm", language="move", start=rig.park, goal=rig.home, box=wide)).ok
    beyond = tuple(axis.upper + 1.0 for axis in rig.axes)
    assert judge(rigs, Job(arm="arm", language="move", start=rig.park, goal=beyond)).refusals


@pytest.mark.parametrize("language", ["task", "melfa", "move"])
def test_a_start_of_the_wrong_length_is_refused_with_words(language: Literal["task", "melfa", "move"]) -> None:
    rig = load_rig("rv2aj")
    verdict = judge({"a": rig}, Job(arm="a", language=language, text="10 END", start=(0.0,), goal=rig.home))
    assert not verdict.ok
    assert f"1 positions given; allowed: {len(rig.axes)}" in verdict.words


def test_a_fault_of_the_preview_s_own_is_words_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = load_rig("lynx6")

    def broken(*given: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("hil.service.uploads._motion", broken)
    verdict = judge({"a": rig}, Job(arm="a", language="move", start=rig.park, goal=rig.home))
    assert "ZeroDivisionError: a bug" in verdict.words and "tell the lab's owner" in verdict.words


def test_a_path_that_leads_out_of_the_box_is_refused() -> None:
    rig = load_rig("lynx6")
    round_home = WorkBox(lower_m=(0.15, -0.2, 0.1), upper_m=(0.4, 0.2, 0.3))
    back = judge({"a": rig}, Job(arm="a", language="move", start=rig.home, goal=rig.park, box=round_home))
    assert not back.ok


def test_a_task_that_would_last_too_long_is_refused_before_it_is_rehearsed() -> None:
    text = 'title = "long"\n' + '[[step]]\ndo = "wait"\nseconds = 1000\n'
    verdict = judge({"a": load_rig("lynx6")}, Job(arm="a", language="task", name="long", text=text))
    assert not verdict.ok
    assert "allowed: 900" in verdict.words


def test_a_shelf_gives_motions_to_their_holder_and_keeps_the_newest_of_each() -> None:
    shelf = Shelf()
    for k in range(20):
        shelf.keep("Ada", UploadVerdict(certificate=b"c", digest=f"{k}"))
    shelf.keep("Bob", UploadVerdict(certificate=b"c", digest="19"))
    assert shelf.find("Ada", "19") is not None
    assert shelf.find("Ada", "0") is None
    assert shelf.find("Eve", "19") is None
    assert shelf.find("Bob", "19") is not None


def test_a_program_is_played_through_and_one_that_reads_signals_or_never_ends_is_not_run() -> None:
    rigs = {"a": load_rig("rv2aj")}

    def of(text: str, points: str = "") -> UploadVerdict:
        start = rigs["a"].home
        return judge(rigs, Job(arm="a", language="melfa", name="p1", text=text, points=points, start=start))

    folder = Path("configs/programs")
    assert of((folder / "arcs.mb4").read_text(), (folder / "arcs.pos").read_text()).ok
    assert "syntax error" in of("import os").words
    signals = of("10 IF M_IN(3)=1 THEN 20 ELSE 20\n20 END\n")
    assert not signals.ok
    assert "reads signals" in signals.words
