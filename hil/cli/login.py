"""hil login: take a join file, or list where one is logged in."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from hil.errors import ConfigError

File = Annotated[
    Path | None, typer.Argument(help="A join file from the lab; none: list the logins.", exists=True, dir_okay=False)
]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(login)


def login(file: File = None) -> None:
    """Keep a lab's address, fingerprint and token for `hil watch`, `hil drive`, `hil book` and `hil pull`."""
    from hil.cli._token_words import allows, standing
    from hil.service.connection import logins_dir
    from hil.service.grants import EVERY_ARM, peek
    from hil.service.join import logins, read_join, save_login

    now_s = time.time()
    if file is None:
        known = logins(logins_dir())
        if not known:
            print("no login yet: `hil login FILE` takes a join file from a lab")
        for join in known:
            grant = peek(join.token)
            worth = f": {allows(grant)}: {standing(grant, now_s)}" if grant is not None else ""
            print(f"{join.url}  {join.lab}{worth}")
        return
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigError(str(file), "file", error.strerror or str(error), "a file that can be read") from None
    join = read_join(file, data)
    grant = peek(join.token)
    if grant is None:
        raise ConfigError(str(file), "token", "something else", "a token, as `hil token new` writes it")
    save_login(logins_dir(), join)
    print(f"{join.lab}: {grant.user} may {allows(grant)}: {standing(grant, now_s)}")
    if now_s >= grant.expires_s:
        print("Nobody gets in with it any more: ask for a new join file")
        return
    arm = "ARM" if grant.arms == (EVERY_ARM,) else grant.arms[0]
    print(f"hil {'watch' if grant.role.value == 'watch' else 'drive'} {join.url}/{arm}")
