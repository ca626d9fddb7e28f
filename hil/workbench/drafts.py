"""Calibrations that were begun and not finished, one file per rig, and what becomes of a finished one."""

from __future__ import annotations

import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from hil.errors import ConfigError, InterlockError
from hil.model._calibration_file import (
    AxisCalibration,
    Calibration,
    Confirmation,
    calibration_text,
    new_calibration_file,
    write_confirmation,
    write_whole,
)
from hil.model.files import state_dir
from hil.model.rig import AdapterIdentity, Rig
from hil.runtime.wiring import load_rig
from hil.types import ControllerIdentity, Record
from hil.workbench._calibration_plan import Plan, Progress


class Draft(Record, frozen=True):
    """What was measured when it was interrupted.

    Attributes:
        adapter: of the arm; None for a fake.
        only: the one axis that was to be redone, or None.
        saved: day and time, ISO 8601.
        controller: what the board said of itself; None in a draft of before that was kept.
        rig_digest: of the rig as it was measured by; empty in a draft of before that was kept.
    """

    rig: str
    adapter: AdapterIdentity | None
    only: str | None
    saved: str
    progress: Progress
    controller: ControllerIdentity | None = None
    rig_digest: str = ""


def draft_file(rig_id: str, *, fake: bool) -> Path:
    """Where the draft of a rig is kept."""
    return state_dir() / "drafts" / f"{rig_id}{'.fake' if fake else ''}.json"


def read_draft(
    rig: Rig,
    plan: Plan,
    adapter: AdapterIdentity | None,
    only: str | None,
    controller: ControllerIdentity | None = None,
) -> Draft | None:
    """What is left of an interrupted calibration; None if there is none.

    Args:
        rig: as it is to be measured by now.
        plan: what is to be done.
        adapter: of the arm; None for a fake.
        only: the one axis that is to be redone, or None.
        controller: what the board says of itself; None for unknown.

    Raises:
        InterlockError: there is one, and it is of another arm, board or rig, or cannot be read.
    """
    file = draft_file(rig.id, fake=adapter is None)
    try:
        draft = msgspec.json.decode(file.read_bytes(), type=Draft)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        words = f"{file}: a calibration was begun here, and cannot be read any more: {error}"
        raise InterlockError(words, [_NEEDED]) from None
    words = _misfit(draft, rig, plan, adapter, only, controller)
    if words:
        raise InterlockError(
            f"a calibration of {rig.id} was begun here, last touched {draft.saved}, but {words}", [_NEEDED]
        )
    return draft


_NEEDED = "a draft of the same arm"


def _misfit(
    draft: Draft,
    rig: Rig,
    plan: Plan,
    adapter: AdapterIdentity | None,
    only: str | None,
    controller: ControllerIdentity | None,
) -> str:
    """Why what was measured then does not count now; empty if it does."""
    if draft.adapter != adapter:
        return f"at another adapter: then {_at(draft.adapter)}, now {_at(adapter)}"
    if draft.only != only:
        begun, asked = (f"joint {name} alone" if name else "all joints" for name in (draft.only, only))
        return f"of {begun}, not of {asked}"
    if not draft.rig_digest:
        return "by an older version, which did not note by what rig it measured"
    names = {axis.name for axis in plan.axes}
    used = {*draft.progress.channels, *draft.progress.directions, *draft.progress.points, *draft.progress.done}
    if draft.rig_digest != rig.digest or not used <= names:
        return "by a rig that is another one now: its file, its robot or its calibration was changed since"
    if others := set(draft.progress.channels.values()) - set(plan.channels):
        return f"with channels that are not named now: {', '.join(map(str, sorted(others)))} (--channels)"
    changes = draft.controller.changes(controller) if draft.controller and controller else ()
    return f"the board is another one, or its settings have changed: {', '.join(changes)}" if changes else ""


def _at(adapter: AdapterIdentity | None) -> str:
    return "a fake" if adapter is None else adapter.text


def write_draft(draft: Draft) -> None:
    """Keep a draft, whole or not at all.

    Raises:
        ConfigError: the folder cannot be written to.
    """
    write_whole(draft_file(draft.rig, fake=draft.adapter is None), msgspec.json.encode(draft).decode())


def drop_draft(rig_id: str, *, fake: bool) -> None:
    """It is finished, or not wanted any more."""
    draft_file(rig_id, fake=fake).unlink(missing_ok=True)


def write_calibration(
    rig: Rig,
    axes: dict[str, AxisCalibration],
    *,
    operator: str,
    adapter: AdapterIdentity | None,
    port: str,
    now: datetime.datetime,
) -> Path:
    """Write a calibration that the rig can be used with, and remember who has seen its arm.

    Args:
        rig: the rig without it.
        axes: every axis of it.
        operator: who has calibrated.
        adapter: of the arm; None for a fake.
        port: where it was.
        now: day and time with its zone.

    Raises:
        ConfigError: the rig cannot be used with it, or the folder cannot be written to; nothing was written.
    """
    calibration = Calibration(rig=rig.id, date=now.date(), operator=operator, adapter=adapter, port=port, axes=axes)
    text = calibration_text(calibration, rig)
    path = new_calibration_file(rig.id, now.date())
    with TemporaryDirectory(prefix="hil-calibration-") as folder:
        trial = Path(folder) / path.name
        trial.write_text(text, encoding="utf-8")
        try:
            load_rig(rig.file, calibrated=trial)
        except ConfigError as error:
            file = error.file.replace(str(trial), "what was measured")
            raise ConfigError(file, error.key, error.value, error.allowed, error.advice) from None
    write_whole(path, text)
    if adapter is not None:
        confirm(rig.id, path.stem, by=operator, adapter=adapter, port=port, now=now)
    return path


def confirm(
    rig_id: str, calibration: str, *, by: str, adapter: AdapterIdentity, port: str, now: datetime.datetime
) -> Path:
    """Remember that somebody saw the right arm move at this port.

    Raises:
        ConfigError: the folder cannot be written to.
    """
    return write_confirmation(
        Confirmation(
            rig=rig_id,
            by=by,
            date=now.isoformat(timespec="seconds"),
            port=port,
            place=adapter.place,
            calibration=calibration,
        )
    )
