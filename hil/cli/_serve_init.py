"""hil serve init: a folder for a lab, with keys, certificate, settings and a unit for systemd."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from hil.errors import ConfigError


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    arm: Annotated[
        list[str] | None,
        typer.Option(metavar="RIG | NAME=RIG", help="An arm of the lab; may be given again; none: lynx6."),
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(help="Name or address by which others reach this computer; none: only this computer does."),
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where it answers.")] = 8742,
    name: Annotated[str, typer.Option(help="The lab's name, for those who log in.")] = "arms",
    renew_certificate: Annotated[
        bool, typer.Option("--renew-certificate", help="In a folder that is there: only a new certificate.")
    ] = False,
) -> None:
    """Make keys, a self-signed certificate, settings and a systemd unit. Overwrites nothing."""
    import secrets

    from hil.runtime.wiring import load_rig
    from hil.service.settings import FILE
    from hil.service.setup import EVERYWHERE, make_lab
    from hil.service.setup import renew_certificate as renew

    if renew_certificate:
        print(f"certificate {renew(folder, host or (), time.time())}; join files made before stop working")
        return
    arms = _arms(arm or ["lynx6"])
    for rig in arms.values():
        load_rig(rig)
    seeds = (secrets.token_bytes(32), secrets.token_bytes(32))
    made = make_lab(folder, name=name, hosts=host or (), arms=arms, seeds=seeds, now_epoch_s=time.time(), port=port)
    for file in made.files:
        print(folder / file)
    print(f"{made.url}, certificate {made.fingerprint}")
    if made.host == EVERYWHERE:
        print(f"it listens on every network of this computer; for one alone: its address as `host` in {folder / FILE}")
    print(f"next: hil token new NAME --for 3h --lab {folder}, then hil serve --lab {folder}")


def _arms(given: list[str]) -> dict[str, str]:
    arms: dict[str, str] = {}
    for words in given:
        name, _, rig = words.partition("=")
        if name in arms:
            raise ConfigError("hil serve init", "--arm", words, "each name once, as --arm left=lynx6 --arm right=lynx6")
        arms[name] = rig or name
    return arms
