"""hil serve: arms for a lab, or virtual ones for a newcomer; and `hil serve init`, which makes a lab's folder."""

from __future__ import annotations

import contextlib
import gc
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hil.cli._names import names
from hil.cli._plain_help import CommandGroup, PlainGroup
from hil.cli._serve_init import init
from hil.cli.motion_commands import command_line
from hil.cli.output import complain
from hil.errors import ConfigError, LinkError

if TYPE_CHECKING:
    import asyncio
    import ssl
    from collections.abc import Sequence

    from hil.service.app import Site
    from hil.service.merged_lines import MergedLines
    from hil.service.running_lab import ArmPlan, RunningLab
    from hil.service.settings import Lab, Settings


IDLE_S = 20.0
"""A line on which nothing is asked for so long is closed; a channel is none of those."""

SWEEP_S = 5.0
"""Between two looks for garbage."""


class _ServeGroup(PlainGroup):
    """`hil serve init ...`, and `hil serve ...` for everything else."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the unnamed command's name in front of its arguments."""
        if not args or args[0] not in self.commands:
            args = ["arms", *args]
        return super().parse_args(ctx, args)


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    group = CommandGroup(cls=_ServeGroup, help="Share arms: one drives, many watch. `hil serve init` makes a lab.")
    group.command("arms")(serve)
    group.command("init")(init)
    app.add_typer(group, name="serve")


def serve(
    rigs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RIG|ROBOT...", autocompletion=names("rigs", "robots"), help="By name or file."),
    ] = None,
    demo: Annotated[int | None, typer.Option(metavar="N", help="N virtual arms, on this computer alone.")] = None,
    demo_rig: Annotated[str, typer.Option(metavar="RIG|ROBOT", help="What the virtual arms are.")] = "lynx6",
    lab: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of a lab, as `hil serve init` makes it.")
    ] = None,
    hardware: Annotated[
        bool, typer.Option("--hardware", help="Real arms at their rigs' ports. Without: fakes.")
    ] = False,
    host: Annotated[str | None, typer.Option(metavar="ADDR", help="Address to listen on; none: this computer.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="None: 8742, or the lab's.")] = None,
    browser: Annotated[bool, typer.Option("--browser", help="Open the page of the first arm.")] = False,
) -> None:
    """Share arms over the network: one drives, many watch. Ends with Ctrl-C.

    The arms are those of RIG..., virtual ones (--demo), or a lab's own (--lab). `hil serve init DIR` makes a lab.
    """
    from hil.service.settings import Lab, Settings, load_lab

    if demo is not None and (rigs or lab is not None or hardware):
        raise typer.BadParameter("--demo has arms of its own: give neither RIG nor --lab nor --hardware")
    found = Lab(folder=Path(), settings=Settings()) if lab is None else load_lab(lab)
    found = Lab(folder=found.folder, settings=_listening(found.settings, host, port))
    with tempfile.TemporaryDirectory(prefix="hil-demo-") as folder:
        plans = _plans(found, rigs or [], demo, demo_rig, hardware, Path(folder))
        if not plans:
            raise ConfigError("hil serve", "RIG", None, "rigs, --demo N, or --lab DIR with arms in its settings")
        _serve(found, plans, keyed=lab is not None, browser=browser)


def _listening(settings: Settings, host: str | None, port: int | None) -> Settings:
    import msgspec

    changes = {"host": host, "port": port}
    listen = msgspec.structs.replace(
        settings.listen, **{key: value for key, value in changes.items() if value is not None}
    )
    return msgspec.structs.replace(settings, listen=listen)


def _plans(
    lab: Lab, rigs: list[str], demo: int | None, demo_rig: str, hardware: bool, folder: Path
) -> Sequence[ArmPlan]:
    import msgspec

    from hil.service.demo import demo_arms
    from hil.service.lab_setup import arms_of
    from hil.service.settings import ArmSettings

    if demo is not None:
        return demo_arms(demo, demo_rig, folder)
    if rigs:
        arms = {Path(rig.removesuffix(".toml")).name: ArmSettings(rig=rig, hardware=hardware) for rig in rigs}
        return arms_of(msgspec.structs.replace(lab.settings, arms=arms))
    return arms_of(lab.settings, lab.folder)


def _serve(lab: object, plans: Sequence[ArmPlan], *, keyed: bool, browser: bool) -> None:
    import asyncio

    from hil.clock import monotonic_s
    from hil.runtime.terminal_signals import held_back
    from hil.service.lab_setup import open_lab, open_local, tls_of
    from hil.service.merged_lines import MergedLines
    from hil.service.settings import Lab

    assert isinstance(lab, Lab)
    settings, command, lines = lab.settings, command_line(), MergedLines(complain, monotonic_s)
    if keyed:
        running = open_lab(lab, plans, command=command, say=lines)
    else:
        running = open_local(settings, plans, command=command, say=lines)
    course_pages = _course_pages(lab, running) if keyed else None
    for plan in plans:
        what = "FAKE" if plan.url is None else f"REAL at {plan.place}"
        print(f"{what} {plan.rig.controller.kind}: {plan.arm}, {plan.rig.title}", flush=True)
    # Asyncio forgets at its end what signals did before it.
    with held_back() as held, asyncio.Runner() as runner:
        held.deliver()
        runner.run(_run(running, settings, tls_of(lab), browser, lines, course_pages))


def _course_pages(lab: Lab, running: RunningLab) -> Site | None:
    """What answers to course pages of learning systems, where the settings name some; needs packages of its own."""
    if not lab.settings.lti.platforms:
        return None
    from hil.service.lti_site import open_lti

    return open_lti(lab, running)


async def _run(
    lab: RunningLab,
    settings: Settings,
    tls: ssl.SSLContext | None,
    browser: bool,
    lines: MergedLines,
    course_pages: Site | None = None,
) -> None:
    import asyncio

    from aiohttp import web

    from hil.runtime.terminal_signals import ENDS
    from hil.service.app import application, quiet_logger
    from hil.service.callers import MOST_UNKNOWN, Callers
    from hil.service.front_site import FrontSite

    proxied = settings.listen.behind_tls_proxy
    callers = Callers(most_of_one=MOST_UNKNOWN) if proxied else Callers()
    app = application(lab, callers, trust_proxy=proxied, course_pages=course_pages)
    runner = web.AppRunner(app, access_log=None, logger=quiet_logger(), handler_cancellation=True, shutdown_timeout=1.0,
                           keepalive_timeout=IDLE_S)  # fmt: skip
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: lines(f"fault in the server itself: {_words(context)}"))
    for number in ENDS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # by `nohup`, or by the window that this serves
            try:
                loop.add_signal_handler(number, told.set)
            except NotImplementedError:  # Windows
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(told.set))
    await runner.setup()
    key = lab.door.local_key
    try:
        # Whoever reaches this start finds its key, not that of one before it.
        keep = key.keep if key is not None else lambda _: None
        site = FrontSite(runner, settings.listen.host, settings.listen.port, callers, bound=keep, tls=tls)
        try:
            await site.start()
        except OSError as error:
            place = f"{settings.listen.host} port {settings.listen.port}"
            raise LinkError(f"{place}: cannot listen there: {error.strerror}. Give another --port") from None
        # What is here now stays. Passed over when garbage is looked for, it delays no heartbeat.
        gc.collect()
        gc.freeze()
        urls = _say_where(runner.addresses, tls is not None, lab)
        if browser:
            _open_page(_page(urls[0], lab))
        await _wait_and_sweep(told, lines)
        print("ending: every arm is stopped and held first", flush=True)
    finally:
        ports = {address[1] for address in runner.addresses}
        await runner.cleanup()
        if key is not None:
            for port in ports:
                key.drop(port)


def _page(url: str, lab: RunningLab) -> str:
    """What to open in a browser: the first arm's page, with the key of this start where there is one.

    Behind the `#` it is sent to nobody and stands in no log; the page keeps it for as long as its tab is open.
    """
    key = lab.door.local_key
    arm = next(iter(lab.desks))
    return f"{url}/{arm}" if key is None else f"{url}/#{arm}?key={key.text}"


def _open_page(url: str) -> None:
    """In a browser; aside, since some are slow, and one in the terminal stays until it is left."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


async def _wait_and_sweep(told: asyncio.Event, lines: MergedLines) -> None:
    """Wait for the end; meanwhile look for garbage by the clock, and for lines that were held back.

    A line that broke off leaves objects that refer to each other: few by number, with a quarter of a megabyte of TLS.
    """
    import asyncio

    while not told.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SWEEP_S):
                await told.wait()
        lines.tidy()
        gc.collect()


def _words(context: dict[str, Any]) -> str:
    error = context.get("exception")
    return context["message"] if error is None else f"{type(error).__name__}: {error}"


def _say_where(addresses: list[object], tls: bool, lab: RunningLab) -> list[str]:
    from hil.service.settings import is_loopback

    urls = []
    for address in addresses:
        assert isinstance(address, tuple)
        host, port = address[:2]
        shown = f"[{host}]" if ":" in host else host
        url = f"{'https' if tls else 'http'}://{shown}:{port}"
        urls.append(url)
        print(f"serving {', '.join(lab.desks)} at {url}", flush=True)
        if is_loopback(host) and not lab.door.keyed:
            arm = next(iter(lab.desks))
            print(f"in another terminal: hil drive {url}/{arm}   or watch: hil watch {url}/{arm}", flush=True)
    if not lab.door.keyed:
        print(f"in a browser: {_page(urls[0], lab)}", flush=True)
        print("without keys: you may drive, from this computer; nobody else can", flush=True)
    return urls
