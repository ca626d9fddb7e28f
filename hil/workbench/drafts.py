"""Calibrations that were begun and not finished, one file per rig, and what becomes of a finished one."""

from __future__ import annotations

import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from hil.errors import ConfigError
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
    """

    rig: str
    adapter: AdapterIdentity | None
    only: str | None
    saved: str
    progress: Progress
    controller: ControllerIdentity | None = None


def draft_file(rig_id: str, *, fake: bool) -> Path:
    """Where the draft of a rig is kept."""
    return state_dir() / "drafts" / f"{rig_id}{'.fake' if fake else ''}.json"


def read_draft(rig_id: str, plan: Plan, adapter: AdapterIdentity | None, only: str | None) -> Draft | None:
    """What is left of an interrupted calibration of the same arm; None if there is nothing that fits."""
    try:
        draft = msgspec.json.decode(draft_file(rig_id, fake=adapter is None).read_bytes(), type=Draft)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    names = {axis.name for axis in plan.axes}
    used = {*draft.progress.channels, *draft.progress.directions, *draft.progress.points, *draft.progress.done}
    fits = used <= names and set(draft.progress.channels.values()) <= set(plan.channels)
    return draft if fits and (draft.adapter, draft.only) == (adapter, only) else None


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
