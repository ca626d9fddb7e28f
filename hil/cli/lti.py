"""hil lti: connect a lab to a learning system, so that its course pages open arms and get marks back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli._plain_help import CommandGroup
from hil.cli.arms import AsJson
from hil.cli.output import print_json, print_table
from hil.cli.tokens import LabFolder
from hil.errors import ConfigError

if TYPE_CHECKING:
    from hil.service.lti_book import MarkLine
    from hil.service.lti_connect import SystemAddresses


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    group = CommandGroup(
        no_args_is_help=True, help="Course pages of Moodle, Canvas and others that open the lab's arms."
    )
    group.command()(tool)
    group.command()(connect)
    group.command()(marks)
    app.add_typer(group, name="lti")


def tool(
    pem: Annotated[bool, typer.Option("--pem", help="The public key, for a system that cannot fetch it.")] = False,
    jwk: Annotated[bool, typer.Option("--jwk", help="The same as JSON.")] = False,
    lab: LabFolder = Path(),
) -> None:
    """Say what to type into the learning system; makes the lab's keys for it if they are not there."""
    from hil.service.lti_connect import make_keys, tool_addresses
    from hil.service.settings import load_lab

    if pem and jwk:
        raise typer.BadParameter("--pem or --jwk, not both")
    loaded = load_lab(lab)
    addresses = tool_addresses(loaded)
    key, made = make_keys(loaded)
    if pem or jwk:
        print((key.public_pem if pem else key.key_set_text).strip())
        return
    for path in made:
        print(f"{path}: made, for you alone")
    rows = (
        ("tool URL, target link URI, redirection URI", addresses.launch),
        ("initiate login URL", addresses.login),
        ("public keyset URL", addresses.keys),
        ("opens in", "a new window"),
    )
    print_table("", ("the system asks for", "type"), rows)
    print("next: hil lti connect NAME --client-id ID --deployment ID --moodle https://..., with what it shows then")


def connect(
    name: Annotated[str, typer.Argument(help="A short name of the system, as moodle; it begins its people's names.")],
    client_id: Annotated[str, typer.Option(help="What the system calls this lab.")],
    deployment: Annotated[list[str], typer.Option(help="Deployment id; may be given again.")],
    moodle: Annotated[
        str | None, typer.Option(metavar="URL", help="A Moodle, by the address of its front page.")
    ] = None,
    canvas: Annotated[
        str | None, typer.Option(metavar="URL", help="A Canvas by its address; instructure for one of Instructure's.")
    ] = None,
    issuer: Annotated[str | None, typer.Option(help="Another system: its platform id or issuer.")] = None,
    login_url: Annotated[str | None, typer.Option(help="Another system: authentication request URL.")] = None,
    token_url: Annotated[str | None, typer.Option(help="Another system: access token URL.")] = None,
    keys_url: Annotated[str | None, typer.Option(help="Another system: public keyset URL.")] = None,
    arm: Annotated[
        list[str] | None, typer.Option(help="Arms that its people get; may be given again; none: all.")
    ] = None,
    course: Annotated[
        list[str] | None, typer.Option(help="Ids of the courses that may use the lab; may be given again; none: all.")
    ] = None,
    instructors: Annotated[
        str, typer.Option(help="What teachers of a course may do: watch, drive or teach.")
    ] = "teach",
    speed: Annotated[float, typer.Option(min=1, max=100, metavar="PERCENT", help="Of the rig's speeds.")] = 50.0,
    hours: Annotated[float, typer.Option(min=0.25, max=12, help="How long one visit lasts at most.")] = 3.0,
    lab: LabFolder = Path(),
) -> None:
    """Write a learning system into the lab's settings. The service reads them when it starts."""
    import msgspec

    from hil.service.lti_connect import add_platform, make_keys
    from hil.service.settings import load_lab

    loaded = load_lab(lab)
    addresses = _addresses(moodle, canvas, (issuer, login_url, token_url, keys_url))
    table = {
        **msgspec.structs.asdict(addresses),
        "client_id": client_id,
        "deployments": deployment,
        "courses": course or None,
        "arms": arm or None,
        "instructors": instructors,
        "speed_percent": speed,
        "hours": hours,
    }
    platform = add_platform(loaded, name, table)
    make_keys(loaded)
    print(f"{name}: {platform.issuer}, client {platform.client_id}, is written into {loaded.folder / 'lab.toml'}")
    print(f"next: start the service anew, hil serve --lab {loaded.folder}")


def _addresses(moodle: str | None, canvas: str | None, other: tuple[str | None, ...]) -> SystemAddresses:
    from hil.service import lti_connect

    if sum([moodle is not None, canvas is not None, any(each is not None for each in other)]) != 1:
        raise typer.BadParameter("one of --moodle, --canvas, or --issuer with --login-url, --token-url and --keys-url")
    if moodle is not None:
        return lti_connect.moodle(moodle)
    if canvas is not None:
        return lti_connect.canvas("" if canvas == "instructure" else canvas)
    issuer, login_url, token_url, keys_url = other
    if issuer is None or login_url is None or token_url is None or keys_url is None:
        raise typer.BadParameter("another system needs --issuer, --login-url, --token-url and --keys-url")
    return lti_connect.SystemAddresses(issuer=issuer, login_url=login_url, token_url=token_url, keys_url=keys_url)


def marks(lab: LabFolder = Path(), as_json: AsJson = False) -> None:
    """Say which marks wait, were sent, or are refused by the system, and why."""
    import contextlib

    from hil.service.grants import clock_text
    from hil.service.lti_book import LtiBook
    from hil.service.settings import load_lab

    loaded = load_lab(lab)
    lti = loaded.settings.lti
    path = loaded.path(lti.book)
    if not lti.platforms:
        advice = "`hil lti connect NAME` writes one"
        raise ConfigError(str(lab / "lab.toml"), "lti.platforms", None, "a learning system, which marks go to", advice)
    lines: tuple[MarkLine, ...] = ()
    if path.is_file():  # the service makes it
        with contextlib.closing(LtiBook(path)) as book:
            lines = book.lines()
    if as_json:
        print_json(lines)
        return
    rows = [
        (
            line.name,
            line.subject,
            line.exercise,
            f"{line.points:g} of {line.most:g}",
            clock_text(line.stamp_s),
            line.state.value,
            line.words,
        )
        for line in lines
    ]
    print_table("", ("name here", "id there", "exercise", "mark", "given", "state", "words"), rows)
