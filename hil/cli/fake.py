"""hil fake: an emulated controller for homework, demos and tests of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hil.cli._plain_help import CommandGroup


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    group = CommandGroup(no_args_is_help=True, help="Run an emulated controller that speaks the same bytes.")
    group.callback()(_several)
    group.command()(ssc32)
    group.command()(cr1)
    app.add_typer(group, name="fake")


Profile = Annotated[
    str | None, typer.Option(help="Which kind it is: name or file of a profile, see `hil fake --list`.")
]
Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A further choice; may be given again.")
]


def _list(wanted: bool) -> None:
    """Show profiles and choices, and end."""
    if not wanted:
        return
    from hil.workbench.fake_choices import listing

    for line in listing():
        print(line)
    raise typer.Exit


def _several(
    listed: Annotated[
        bool, typer.Option("--list", callback=_list, is_eager=True, help="Show profiles and all choices.")
    ] = False,
) -> None:
    """Run an emulated controller that speaks the same bytes."""


def ssc32(
    link: Annotated[Path | None, typer.Option(help="Put a link to the pseudo-terminal here.")] = None,
    tcp: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve 127.0.0.1 at this port instead; 0: any.")
    ] = None,
    serial_pace: Annotated[
        bool, typer.Option("--serial-pace", help="Over TCP too, no faster than the serial line.")
    ] = False,
    faults: Annotated[str | None, typer.Option(help="Name or file of scripted faults.")] = None,
    seed: Annotated[int | None, typer.Option(help="Chance of the faults; none: the file's own.")] = None,
    profile: Profile = None,
    changes: Changes = None,
    firmware: Annotated[str | None, typer.Option(help="1.x, 2.x or u (SSC-32U); none: the profile's, 2.x.")] = None,
    baud: Annotated[
        int | None, typer.Option(min=300, help="Speed of the board; none: 115200, an SSC-32U 9600.")
    ] = None,
    unpowered: Annotated[
        bool, typer.Option("--unpowered", help="No logic supply: takes bytes, never answers.")
    ] = False,
    rig: Annotated[
        str | None, typer.Option(help="Put this rig's arm behind the board, limp, in its park pose.")
    ] = None,
    trace: Annotated[Path | None, typer.Option(help="Write what moves, a JSON line a frame, to this file.")] = None,
) -> None:
    """A fake SSC-32. Without options: a 2.x board at 115200 baud, powered, never commanded. Ends with Ctrl-C."""
    from hil.runtime import wiring
    from hil.runtime.kinds import ssc32_fake

    def ready(url: str) -> None:
        _is_up("ssc32", url)

    ssc32_fake.serve(
        ready,
        rig=None if rig is None else wiring.load_rig(rig),
        link=link,
        tcp_port=tcp,
        serial_pace=serial_pace,
        faults=faults,
        seed=seed,
        profile=profile,
        changes=changes or (),
        firmware=firmware,
        baud=baud,
        powered=not unpowered,
        trace=trace,
    )


def _is_up(kind: str, url: str) -> None:
    from hil.runtime.rtprio import answer_at_once

    answer_at_once()
    print(f"FAKE {kind} ready at {url}", flush=True)


def cr1(
    link: Annotated[Path | None, typer.Option(help="Put a link to the pseudo-terminal here.")] = None,
    tcp: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve 127.0.0.1 at this port instead; 0: any.")
    ] = None,
    serial_pace: Annotated[
        bool, typer.Option("--serial-pace", help="Over TCP too, no faster than the serial line.")
    ] = False,
    faults: Annotated[str | None, typer.Option(help="Name or file of scripted faults.")] = None,
    seed: Annotated[int | None, typer.Option(help="Chance of the faults; none: the file's own.")] = None,
    program: Annotated[
        list[Path] | None, typer.Option(help="A program file to keep in its memory; may be given again.")
    ] = None,
    profile: Profile = None,
    changes: Changes = None,
    baud: Annotated[int | None, typer.Option(min=300, help="Speed of the line; none: 9600.")] = None,
    framing: Annotated[str | None, typer.Option(help="Data bits, parity, stop bits; none: 8E2.")] = None,
    end_code: Annotated[
        str | None, typer.Option(help="What ends a reply: cr, crlf; over TCP also none. None: cr.")
    ] = None,
    six_axes: Annotated[bool, typer.Option("--six-axes", help="Show J4 and C, for clients that need six.")] = False,
    procedure: Annotated[int | None, typer.Option(help="CPRC232: 0 requests, 2 data link; none: 0.")] = None,
    must_open: Annotated[bool, typer.Option("--must-open", help="Refuse everything before OPEN=.")] = False,
    error_digits: Annotated[int | None, typer.Option(help="Digits after QeR: 9 or 4; none: 9.")] = None,
    start: Annotated[
        str | None, typer.Option(metavar="PROGRAM", help="Start it at the panel before clients come.")
    ] = None,
    trace: Annotated[Path | None, typer.Option(help="Write where the arm is, a JSON line a cycle.")] = None,
) -> None:
    """A fake CR1 with an RV-2AJ. Without options: 9600 8E2, CR, automatic mode, servo off. Ends with Ctrl-C."""

    def ready(url: str) -> None:
        _is_up("cr1", url)

    from hil.runtime.kinds import rv2aj_fake

    rv2aj_fake.serve(
        ready,
        link=link,
        tcp_port=tcp,
        serial_pace=serial_pace,
        faults=faults,
        seed=seed,
        programs=program or (),
        profile=profile,
        changes=changes or (),
        baud=baud,
        framing=framing,
        end_code=end_code,
        six_axes=six_axes,
        procedure=procedure,
        must_open=must_open,
        error_digits=error_digits,
        start=start,
        trace=trace,
    )
