"""hil follow: an arm goes where lines tell it, many times a second, for as long as they come."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli import motion_commands
from hil.cli._names import RigName
from hil.cli.motion_commands import ConfirmedBy, Hardware, Journal, Port
from hil.cli.output import complain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hil.cli._target_feed import Feed, Line
    from hil.model.rig import Rig
    from hil.runtime.host import Host
    from hil.workbench.leading import Leading

LOOK_S = 0.004
ARMING_S = 2.0
ENDING_S = 10.0
MOST_COMPLAINTS = 10
OURS = "stop: the targets end"
"""What the loop says of an end that we have asked for."""

RATES_HZ = (10.0, 100.0)


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(follow)


def follow(
    rig: RigName,
    hardware: Hardware = False,
    port: Port = None,
    listen: Annotated[
        int | None,
        typer.Option(metavar="PORT", help="Take numbered lines from a UDP port of this machine instead; 0 for any."),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="HZ", help="Take lines of standard input so often, 10 to 100, as of a file.")
    ] = None,
    speed: Annotated[float, typer.Option(help="Part of the rig's speeds that is allowed, in percent.")] = 25.0,
    leader: Annotated[
        str | None, typer.Option(metavar="RIG", help="The lines say where the arm of this rig is, which leads.")
    ] = None,
    by: Annotated[str, typer.Option(help="What of the leader is followed: joints or tool.")] = "joints",
    scale: Annotated[float, typer.Option(help="So many times the leader's way.")] = 1.0,
    pad: Annotated[bool, typer.Option("--pad", help="Lead by a game pad instead, while its button is held.")] = False,
    confirmed_by: ConfirmedBy = None,
    journal: Journal = None,
) -> None:
    """Follow lines such as "joints 0 90 -75 -55 0 20" or "tool 180 0 120 pitch=-40", 10 to 100 a second."""
    from hil.runtime.follow_source import refuse_slow_controller
    from hil.runtime.host import Host
    from hil.runtime.wiring import load_rig

    _refuse_options(listen, rate, speed, leader, by, scale)
    set_up = load_rig(rig)
    refuse_slow_controller(set_up)
    if pad:
        if (listen, rate, leader) != (None, None, None):
            raise typer.BadParameter("a pad leads alone: leave --listen, --rate and --leader out", param_hint="--pad")
        _by_pad(set_up, hardware, port, speed / 100.0, confirmed_by, journal)
        return
    leads = None if leader is None else load_rig(leader)
    url = motion_commands.announce(set_up, hardware, port)
    file = motion_commands.journal_file(set_up, journal)
    with (
        _feed(listen, rate) as open_feed,
        Host(set_up, url=url, journal=file, command=motion_commands.command_line(), say=complain) as host,
    ):
        leading = _leading(set_up, leads, by, scale)
        host.connect(motion_commands.voucher(set_up, url, confirmed_by, host.events))
        motion_commands.pass_on_remarks(host)
        following = _Following(host, leading, speed / 100.0)
        done = following.go(open_feed())
    held = "the arm is limp where its servos have no power" if host.supply_cut else "the arm holds"
    motion_commands.close_with(host, f"{following.taken} targets sent; {held}", done=done)


def _by_pad(
    rig: Rig, hardware: bool, port: str | None, share: float, confirmed_by: str | None, journal: Path | None
) -> None:
    """Lead by a pad until Ctrl-C."""
    from hil.cli._pad_session import PadSession
    from hil.runtime.host import Host
    from hil.workbench.sdl_pad import SdlPad

    with contextlib.closing(SdlPad()) as source:
        url = motion_commands.announce(rig, hardware, port)
        file = motion_commands.journal_file(rig, journal)
        with Host(rig, url=url, journal=file, command=motion_commands.command_line(), say=complain) as host:
            host.connect(motion_commands.voucher(rig, url, confirmed_by, host.events))
            motion_commands.pass_on_remarks(host)
            source.read()
            print(f"pad: {source.name or 'none yet, plug one in'}; hold {rig.pad.hold}, Ctrl-C ends", flush=True)
            session = PadSession(host, source, share)
            with contextlib.suppress(KeyboardInterrupt):
                session.go()
        held = "the arm is limp where its servos have no power" if host.supply_cut else "the arm holds"
        ended_well = not any("-> fault: " in event for event in host.events)
        motion_commands.close_with(host, f"{session.jogs} jogs by pad; {held}", done=ended_well)


def _refuse_options(
    listen: int | None, rate: float | None, speed: float, leader: str | None, by: str, scale: float
) -> None:
    if not 0.0 < speed <= 100.0:
        raise typer.BadParameter("above 0 to 100 % of the rig's speeds", param_hint="--speed")
    if rate is not None and not RATES_HZ[0] <= rate <= RATES_HZ[1]:
        raise typer.BadParameter("10 to 100 lines a second", param_hint="--rate")
    if rate is not None and listen is not None:
        raise typer.BadParameter("is for standard input; what comes to a port comes when it does", param_hint="--rate")
    if listen is not None and not 0 <= listen <= 65535:
        raise typer.BadParameter("0 to 65535", param_hint="--listen")
    if by not in ("joints", "tool"):
        raise typer.BadParameter("joints or tool", param_hint="--by")
    if leader is None and (by != "joints" or scale != 1.0):
        raise typer.BadParameter("says how a leader is followed: give --leader RIG as well", param_hint="--by, --scale")
    if not (0.0 < abs(scale) <= 10.0):
        raise typer.BadParameter("up to 10 times the leader's way, and not 0; below 0 mirrored", param_hint="--scale")


@contextlib.contextmanager
def _feed(listen: int | None, rate: float | None) -> Iterator[Callable[[], Feed]]:
    """What opens the source of lines; a port is taken at once, standard input is read once somebody is there."""
    from hil.cli._target_feed import LOOPBACK, DatagramFeed, PacedFeed, StreamFeed
    from hil.errors import InterlockError

    if listen is None:
        yield lambda: StreamFeed() if rate is None else PacedFeed(rate)
        return
    try:
        feed = DatagramFeed(listen)
    except OSError as error:
        raise InterlockError(
            f"port {listen} of {LOOPBACK} cannot be had: {error.strerror}; --listen 0 takes one that is free",
            ["a free port"],
        ) from None
    print(f"takes targets at udp://{LOOPBACK}:{feed.port}", flush=True)
    try:
        yield lambda: feed
    finally:
        feed.close()


def _leading(rig: Rig, leader: Rig | None, by: str, scale: float) -> Leading:
    """Import and make what is needed later: on a busy machine the loop would miss our sign of life meanwhile."""
    from hil.workbench.leading import Leading

    return Leading(rig, leader, by_tool=by == "tool", scale=scale)


class _Following:
    """Lines in, targets out, and what there is to say.

    Args:
        host: of the arm.
        leading: makes positions of lines.
        share: part of the rig's speeds.

    Attributes:
        taken: targets that were sent.
    """

    def __init__(self, host: Host, leading: Leading, share: float) -> None:
        self.host, self.taken = host, 0
        self._leading, self._share = leading, share
        self._seq = 0
        self._complaints = 0
        self._heard = len(host.events)

    def go(self, feed: Feed) -> bool:
        """Follow until the lines end or the arm does; whether it was the lines, and nothing was wrong."""
        from hil.types import Mode

        host = self.host
        assert host.last is not None
        self._leading.begin(host.last.setpoint)
        print(f"at {self._leading.here_words()}; the first target has to be near it", flush=True)
        armed = False
        while host.alive:
            for line in feed.take():
                ended = self._take(line, armed)
                armed = armed or self.taken > 0
                if ended:
                    return self._end()
            if feed.over:
                return self._end()
            time.sleep(LOOK_S)
            host.poll()
            self._say()
            if armed and host.mode not in (Mode.IDLE, Mode.ARMED, Mode.STREAMING, Mode.STOPPING):
                complain("the arm follows no more; begin again once that is mended")
                return False
        self._say()
        return False

    def _take(self, line: Line, armed: bool) -> bool:
        """Send the target of a line; True for the end."""
        from hil.errors import HilError
        from hil.types import ArmJog, FollowTarget, Mode

        try:
            seq, positions = self._leading.take(line.text)
            if positions is None:
                return seq is not None
            if not armed:
                self.host.send(ArmJog(speed_share=self._share))
                self.host.wait_for(Mode.ARMED, ARMING_S)
            self.host.send(FollowTarget(seq=self._next_seq(seq), issued_s=line.at_s, positions=positions))
            self.taken += 1
        except HilError as error:
            self._complain(str(error))
        return False

    def _next_seq(self, given: int | None) -> int:
        if given is None:
            self._seq += 1
            return self._seq
        self._seq = max(self._seq, given)
        return given

    def _end(self) -> bool:
        """The lines have ended: so does the motion."""
        from hil.types import JogRelease, Mode

        host = self.host
        if host.mode in (Mode.ARMED, Mode.STREAMING):
            host.send(JogRelease(seq=self._next_seq(None)))
        elif not self.taken:
            complain("no target came")
            return False
        host.until(lambda: host.mode not in (Mode.STREAMING, Mode.STOPPING), ENDING_S)
        self._say()
        return not self._complaints and host.mode in (Mode.IDLE, Mode.ARMED, Mode.HOLDING)

    def _say(self) -> None:
        """What the loop has to say of it, once."""
        news, self._heard = self.host.events[self._heard :], len(self.host.events)
        for event in news:
            if OURS in event:
                continue
            if event.startswith(("refused: ", "not followed: ", "[", "the arm ")) or "stop: " in event:
                self._complain(event.removeprefix("refused: "))
            elif "-> fault: " in event:
                self._complain(event)

    def _complain(self, words: str) -> None:
        self._complaints += 1
        if self._complaints <= MOST_COMPLAINTS:
            complain(words)
        if self._complaints == MOST_COMPLAINTS:
            complain("and so on: what else is wrong with the targets is not said any more")
