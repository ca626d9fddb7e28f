"""hil audit: whether a lab's audit is whole, and who did what."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli._moments import moment
from hil.cli._plain_help import CommandGroup
from hil.cli.arms import AsJson
from hil.cli.output import print_json
from hil.cli.tokens import LabFolder
from hil.errors import ConfigError

if TYPE_CHECKING:
    from hil.service.audit import Entry


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    group = CommandGroup(no_args_is_help=True, help="Who did what, when, from where, with which verdict.")
    group.command()(verify)
    group.command()(show)
    app.add_typer(group, name="audit")


def verify(
    head: Annotated[str | None, typer.Option(help="A chain that was noted down before; it has to be there.")] = None,
    key: Annotated[
        Path | None, typer.Option(help="Public key of the audit; none: the lab's. Keep a copy elsewhere.")
    ] = None,
    journals: Annotated[
        bool, typer.Option(help="Also hold the journals of motion against what was signed; of many that takes minutes.")
    ] = True,
    lab: LabFolder = Path(),
) -> None:
    """Say whether audit and journals are as the service signed for them, and the newest chain, to note it down."""
    from hil.service.audit_query import verify as verify_audit
    from hil.service.keys import PublicKey
    from hil.service.settings import load_lab

    loaded = load_lab(lab)
    audit = loaded.settings.audit
    public = PublicKey.load(key or loaded.path(audit.key).with_suffix(".pub"))
    verdict = verify_audit(loaded.path(audit.folder), public, noted_head=head)
    print(f"{loaded.path(audit.folder)}: {verdict.text}")
    if not verdict.whole:
        raise typer.Exit(1)
    agree = not journals or _journals_agree(loaded.path(audit.folder), loaded.path("journals"))
    print(f"head {verdict.head}")
    if not agree:
        raise typer.Exit(1)


def _journals_agree(audit: Path, journals: Path) -> bool:
    from hil.service.journal_heads import check_journals

    found = check_journals(audit, journals)
    gone = f"; gone, deleted or kept elsewhere: {found.gone}" if found.gone else ""
    print(f"{journals}: journals that agree with what the service signed: {found.agree}{gone}")
    for words in found.wrong:
        print(words)
    return not found.wrong


def show(
    name: Annotated[str | None, typer.Option(help="Only what this person did.")] = None,
    arm: Annotated[str | None, typer.Option(help="Only at this arm.")] = None,
    what: Annotated[str | None, typer.Option(help="Only this kind of deed.")] = None,
    verdict: Annotated[str | None, typer.Option(help="Only what ended so, for example refused.")] = None,
    since: Annotated[str | None, typer.Option("--from", metavar="TIME", help="From then.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Until then.")] = None,
    lab: LabFolder = Path(),
    as_json: AsJson = False,
) -> None:
    """List deeds, oldest first, with people's names as far as the list of tokens still has them."""
    from hil.service.audit_query import query
    from hil.service.issued import issued
    from hil.service.settings import load_lab

    loaded, now_s = load_lab(lab), time.time()
    names = {grant.token_id: grant.user for grant in issued(loaded.issued)}
    ids = None if name is None else [token_id for token_id, user in names.items() if user == name]
    if ids == []:
        raise ConfigError(str(loaded.issued), "name", name, "somebody of this list, as `hil token show` prints it")
    entries = query(
        loaded.path(loaded.settings.audit.folder),
        who=ids,
        arm=arm,
        what=what,
        verdict=verdict,
        since_s=float("-inf") if since is None else moment(since, now_s, "--from"),
        until_s=float("inf") if until is None else moment(until, now_s, "--until", end=True),
    )
    if as_json:
        print_json([{"entry": entry, "name": names.get(getattr(entry.data, "who", ""), "")} for entry in entries])
        return
    for entry in entries:
        print(_line(entry, names))


def _line(entry: Entry, names: Mapping[str, str]) -> str:
    """One line of text; what strangers sent stands here too, and may not steer the terminal."""
    import datetime

    from hil.service.audit import ClockJump, Deed

    when = f"{datetime.datetime.fromtimestamp(entry.t_s).astimezone():%Y-%m-%d %H:%M:%S}"
    deed = entry.data
    if isinstance(deed, ClockJump):
        return f"{when}  -- the clock was set by {deed.by_s:+g} s --"
    assert isinstance(deed, Deed)
    role = f" ({deed.role})" if deed.role else ""
    words = [
        f"{names.get(deed.who, deed.who) or '-'}{role}",
        deed.arm or "-",
        f"{deed.what}: {deed.verdict}" + (f" {deed.times} times" if deed.times > 1 else ""),
        f"from {deed.origin}" if deed.origin else "",
        deed.detail,
    ]
    line = "  ".join([when, *(word for word in words if word)])
    return "".join(character if character.isprintable() else "?" for character in line)
