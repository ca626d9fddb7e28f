"""hil token: let people in, for so long, with so much; one or a whole class; see what is out; take it back."""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli._moments import length_s, moment
from hil.cli._plain_help import CommandGroup
from hil.cli._token_words import allows, length_text
from hil.cli.arms import AsJson
from hil.cli.output import print_json, print_table
from hil.errors import ConfigError

if TYPE_CHECKING:
    from hil.service.grants import Grant, WorkBox
    from hil.service.rights import Role
    from hil.service.rosters import RosterRow
    from hil.service.settings import Lab

LabFolder = Annotated[Path, typer.Option("--lab", metavar="DIR", help="The lab's folder; none: this one.")]
_DEFAULT_SPEED_PERCENT = 50.0
_COUNTS, _NOT_YET = "counts", "not yet"


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    group = CommandGroup(no_args_is_help=True, help="Who may use the lab's arms, and how: make, see, take back.")
    group.command()(new)
    group.command()(show)
    group.command()(revoke)
    group.command()(forget)
    app.add_typer(group, name="token")


def new(
    name: Annotated[str | None, typer.Argument(help="Whom it is for; a pseudonym will do.")] = None,
    arm: Annotated[list[str] | None, typer.Option(help="Which arm; may be given again; * for all.")] = None,
    role: Annotated[str, typer.Option(help="watch, drive, teach or maintain.")] = "drive",
    speed: Annotated[
        float | None, typer.Option(min=1, max=100, metavar="PERCENT", help="Of the rig's speeds; none: 50.")
    ] = None,
    box: Annotated[
        str | None, typer.Option(metavar="'X Y Z X Y Z'", help="Corners of where the tool has to stay, mm.")
    ] = None,
    begin: Annotated[str | None, typer.Option("--from", metavar="TIME", help="From when it counts; none: now.")] = None,
    end: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Until when it counts.")] = None,
    length: Annotated[str | None, typer.Option("--for", metavar="LENGTH", help="How long: 90m, 3h, 2d.")] = None,
    on_site: Annotated[bool, typer.Option("--on-site", help="Its bearer may say to stand beside the arm.")] = False,
    roster: Annotated[
        Path | None, typer.Option(help="A class as CSV: name, arm, role, speed_percent, from, until.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The join file; with --roster the folder for them.")
    ] = None,
    lab: LabFolder = Path(),
) -> None:
    """Make a join file, which its owner gives to `hil login`; or one for each row of a class."""
    from hil.service.rosters import RosterRow, read_roster
    from hil.service.settings import load_lab

    if (name is None) == (roster is None):
        raise typer.BadParameter("either a name, or --roster with a class")
    if end is not None and length is not None:
        raise typer.BadParameter("--until or --for, not both")
    now_s = time.time()
    loaded = load_lab(lab)
    if roster is not None:
        rows = read_roster(_read(roster), str(roster), list(loaded.settings.arms))
        folder = output or Path("join-files")
    else:
        rows = (RosterRow(user=name or "", arms=None, role=None, speed_percent=None, begin=None, end=None),)
        folder = Path()
    common = _Common(tuple(arm or ()), role, speed, _box(box), begin, end, length, on_site, loaded, now_s)
    grants = [common.grant(row) for row in rows]
    paths = [output if roster is None and output else folder / f"{_file_name(grant.user)}" for grant in grants]
    _write_joins(loaded, grants, paths, now_s)
    for grant, path in zip(grants, paths, strict=True):
        print(f"{path}: {allows(grant)}")


class _Common:
    """What the command line says for all rows; a row of the class may say otherwise."""

    def __init__(
        self,
        arms: tuple[str, ...],
        role: str,
        speed_percent: float | None,
        box: WorkBox | None,
        begin: str | None,
        end: str | None,
        length: str | None,
        on_site: bool,
        lab: Lab,
        now_s: float,
    ) -> None:
        self._arms, self._role, self._speed, self._box = arms, role, speed_percent, box
        self._begin, self._end, self._length, self._on_site = begin, end, length, on_site
        self._lab, self._now_s = lab, now_s

    def grant(self, row: RosterRow) -> Grant:
        """What this row's person gets."""
        import secrets

        from hil.service.grants import Grant

        begin = row.begin or self._begin
        begin_s = self._now_s if begin is None else moment(begin, self._now_s, "from")
        end_s = self._end_s(row, begin_s)
        self._refuse_worthless(row.user, begin_s, end_s)
        speed_percent = row.speed_percent or self._speed or _DEFAULT_SPEED_PERCENT
        return Grant(
            token_id=secrets.token_hex(8),
            user=row.user,
            arms=row.arms or self._checked_arms(),
            role=row.role or _role(self._role),
            speed_share=speed_percent / 100.0,
            box=self._box,
            issued_s=int(self._now_s),
            not_before_s=int(begin_s),
            expires_s=int(end_s),
            on_site=self._on_site,
        )

    def _refuse_worthless(self, user: str, begin_s: float, end_s: float) -> None:
        """A token that would let nobody in at any moment is not made."""
        from hil.service.grants import clock_text

        key, advice = (
            f"--until of {user}",
            "A time alone means today: write tomorrow 14:30, give the day as well, or --for LENGTH",
        )
        if int(end_s) <= self._now_s:
            allowed = f"a moment to come; this was {length_text(self._now_s - end_s)} ago"
            raise ConfigError("hil token new", key, clock_text(end_s), allowed, advice)
        if int(end_s) <= int(begin_s):
            allowed = f"a moment after it begins, {clock_text(begin_s)}"
            raise ConfigError("hil token new", key, clock_text(end_s), allowed, advice)

    def _checked_arms(self) -> tuple[str, ...]:
        from hil.service.grants import EVERY_ARM

        known = tuple(self._lab.settings.arms)
        if not self._arms and len(known) == 1:
            return known
        if self._arms and (self._arms == (EVERY_ARM,) or set(self._arms) <= set(known)):
            return self._arms
        given = ", ".join(self._arms) or None
        raise ConfigError("hil token new", "--arm", given, f"{', '.join(known)}, or {EVERY_ARM} for all")

    def _end_s(self, row: RosterRow, begin_s: float) -> float:
        if end := row.end or self._end:
            return moment(end, self._now_s, "until", end=True)
        if self._length:
            return begin_s + length_s(self._length, "--for")
        raise ConfigError("hil token new", "--until", None, "when it ends: --until TIME, or --for 90m, 3h, 2d")


def _write_joins(lab: Lab, grants: list[Grant], paths: list[Path], now_s: float) -> None:
    from hil.service.issued import remember
    from hil.service.join import Join, write_join
    from hil.service.keys import SigningKey
    from hil.service.setup import lab_fingerprint
    from hil.service.tokens import issue

    if not lab.settings.listen.public_url:
        raise ConfigError(str(lab.folder), "listen.public_url", None, "the address for join files, in lab.toml")
    key, certificate = SigningKey.load(lab.token_key), lab_fingerprint(lab, now_s)
    taken = [path for path in paths if path.exists()]
    if taken or len(set(paths)) < len(paths):
        raise ConfigError(str((taken or paths)[0]), "file", "a file that is there", "new names: nothing is overwritten")
    # First the list: a token that nobody could revoke by name must not exist.
    remember(lab.issued, grants)
    for grant, path in zip(grants, paths, strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        url = lab.settings.listen.public_url
        join = Join(lab=lab.settings.name, url=url, certificate_sha256=certificate, token=issue(grant, key))
        write_join(path, join)


def show(
    file: Annotated[Path | None, typer.Argument(help="A join file; none: all tokens of the lab.", exists=True)] = None,
    lab: LabFolder = Path(),
    as_json: AsJson = False,
) -> None:
    """Say what a join file allows, or which tokens are out; the token itself is not shown."""
    from hil.service.grants import peek
    from hil.service.issued import issued
    from hil.service.join import read_join
    from hil.service.settings import load_lab

    now_s = time.time()
    if file is None:
        loaded = load_lab(lab)
        _show_all(issued(loaded.issued), loaded, now_s, as_json=as_json)
        return
    join = read_join(file, _read(file))
    grant = peek(join.token)
    if grant is None:
        raise ConfigError(str(file), "token", "something else", "a token, as `hil token new` writes it")
    state = ""
    if (lab / "lab.toml").is_file():
        state = _state(grant, load_lab(lab), now_s)
    if as_json:
        print_json({"url": join.url, "certificate_sha256": join.certificate_sha256, "grant": grant, "state": state})
        return
    print(f"{join.lab}, {join.url}")
    print(f"{grant.user}: {allows(grant)}, token {grant.token_id}" + (f": {state}" if state else ""))


def revoke(
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of tokens, as `hil token show` lists them.")] = None,
    name: Annotated[str | None, typer.Option(help="All tokens of one person.")] = None,
    file: Annotated[Path | None, typer.Option(help="The token of a join file.", exists=True)] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every token that was made until now.")] = False,
    reason: Annotated[str, typer.Option(help="For the list.")] = "",
    lab: LabFolder = Path(),
) -> None:
    """Take tokens back; the service refuses them from the next message on, and an arm that they drive stops."""
    from hil.service.grants import peek
    from hil.service.issued import issued
    from hil.service.join import read_join
    from hil.service.revocation import revoke as revoke_one
    from hil.service.revocation import revoke_all
    from hil.service.settings import load_lab

    if sum([bool(ids), name is not None, file is not None, everything]) != 1:
        raise typer.BadParameter("give ids, or one of --name, --file, --all")
    loaded = load_lab(lab)
    if everything:
        revoke_all(loaded.revoked, int(time.time()), reason)
        print("all tokens that were made until now count no more")
        return
    known = issued(loaded.issued)
    if file is not None:
        grant = peek(read_join(file, _read(file)).token)
        chosen = [] if grant is None else [grant]
    else:
        chosen = [grant for grant in known if grant.token_id in (ids or ()) or grant.user == name]
    missing = set(ids or ()) - {grant.token_id for grant in chosen}
    if not chosen or missing:
        given = ", ".join(sorted(missing)) or name or str(file)
        raise ConfigError(str(loaded.issued), "token", given, "tokens of this list, as `hil token show` prints it")
    for grant in chosen:
        revoke_one(loaded.revoked, grant.token_id, grant.expires_s, reason or "revoked")
        print(f"{grant.token_id} of {grant.user} counts no more")


def forget(
    name: Annotated[str | None, typer.Argument(help="Whose name is to go.")] = None,
    ended: Annotated[bool, typer.Option("--ended", help="Everybody whose tokens all ended before now.")] = False,
    lab: LabFolder = Path(),
) -> None:
    """Take people's names out of the lists of tokens and slots, and a NAME's results; the audit keeps bare ids."""
    from hil.service.bookings import Bookings
    from hil.service.issued import forget as forget_tokens
    from hil.service.issued import issued
    from hil.service.settings import load_lab

    if (name is None) == (not ended):
        raise typer.BadParameter("either a name, or --ended")
    loaded, now_s = load_lab(lab), time.time()
    mine = [grant for grant in issued(loaded.issued) if grant.user == name]
    if any(_state(grant, loaded, now_s) in (_COUNTS, _NOT_YET) for grant in mine):
        advice = "Revoke it first: without the name it could not be found any more"
        raise ConfigError("hil token forget", "NAME", name, "somebody without a token that counts", advice)
    tokens = forget_tokens(loaded.issued, user=name, ended_before_s=now_s if ended else float("-inf"))
    slots = 0
    if loaded.bookings.is_file():
        with contextlib.closing(Bookings(loaded.bookings, loaded.settings.bookings)) as bookings:
            slots = bookings.forget_before(now_s) if name is None else bookings.forget_user(name)
    _forget_visitors(loaded, name, {grant.user for grant in issued(loaded.issued)})
    handed_in = 0 if name is None else _forget_results(loaded, name)
    results = f", and {handed_in} results" if handed_in else ""
    print(f"{tokens} tokens and {slots} slots are forgotten{results}")


def _forget_results(lab: Lab, name: str) -> int:
    """Of all courses; gives how many hand-ins."""
    from hil.service.courses import results
    from hil.service.courses.course import list_courses

    forgotten = 0
    for folder in list_courses(lab.folder):
        if (folder / results.FILE).is_file():
            with contextlib.closing(results.Results(folder / results.FILE)) as found:
                forgotten += found.forget(name)
    return forgotten


def _forget_visitors(lab: Lab, name: str | None, others: set[str]) -> None:
    """Whoever came from a course page, with the marks that were sent there."""
    from hil.service.lti_book import LtiBook

    path = lab.path(lab.settings.lti.book)
    if path.is_file():
        with contextlib.closing(LtiBook(path)) as book:
            if name is None:
                book.forget_others(others)
            else:
                book.forget_user(name)


def _show_all(grants: list[Grant], lab: Lab, now_s: float, *, as_json: bool) -> None:
    from hil.service.grants import clock_text

    states = [_state(grant, lab, now_s) for grant in grants]
    if as_json:
        print_json([{"grant": grant, "state": state} for grant, state in zip(grants, states, strict=True)])
        return
    rows = [
        (
            grant.token_id,
            grant.user,
            " ".join(grant.arms),
            grant.role.value,
            f"{100 * grant.speed_share:g}",
            clock_text(grant.expires_s),
            state,
        )
        for grant, state in zip(grants, states, strict=True)
    ]
    print_table("", ("id", "name", "arms", "role", "speed, %", "until", "state"), rows)


def _state(grant: Grant, lab: Lab, now_s: float) -> str:
    from hil.service.revocation import Revocations

    if Revocations(lab.revoked).covers(grant):
        return "revoked"
    if now_s < grant.not_before_s:
        return _NOT_YET
    return _COUNTS if grant.in_window(now_s) else "ended"


def _role(text: str) -> Role:
    from hil.service.rights import Role

    names = [role.value for role in Role]
    if text not in names:
        raise ConfigError("hil token new", "--role", text, ", ".join(names))
    return Role(text)


def _box(text: str | None) -> WorkBox | None:
    from hil.service.grants import WorkBox
    from hil.units import MM

    if text is None:
        return None
    try:
        x1, y1, z1, x2, y2, z2 = (float(number) * MM for number in re.split(r"[\s,;]+", text.strip()))
    except ValueError:
        allowed = "six numbers in mm: lower corner X Y Z, upper corner X Y Z"
        raise ConfigError("hil token new", "--box", text, allowed) from None
    return WorkBox(lower_m=(x1, y1, z1), upper_m=(x2, y2, z2))


def _file_name(user: str) -> str:
    from hil.service.join import SUFFIX

    plain = re.sub(r"[^\w.-]+", "-", user).strip(".-") or "somebody"
    return f"{plain}{SUFFIX}"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(str(path), "file", error.strerror or str(error), "a file that can be read") from None
