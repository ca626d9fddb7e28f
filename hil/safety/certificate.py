"""The certificate: what exactly was checked, so that nothing else can be streamed in its name."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from hil.model.rig import Axis, Rig
from hil.motion.motion import Motion
from hil.motion.refusals import say
from hil.refusal import Refusal, RefusedError
from hil.safety.findings import Findings
from hil.types import Margin, Record
from hil.wire_table import WireTable

VALID_S = 8 * 3600.0
"""A working day: calibration and surroundings are looked at again after that."""

CHECK = "E-15"
AGAIN = "Preview again and use the new certificate."


class Certificate(Record, frozen=True, omit_defaults=True):
    """Binds one motion to one rig as it was when both were checked.

    The digest finds changes and accidents. It is not a signature: whoever can write the file can make one.

    Attributes:
        rig_digest: of robot, limits, calibration, tool, fences and rates.
        motion_digest: of all samples, axes and marks.
        start: pose at which the motion begins, radians or metres per axis.
        version: software that checked.
        made_epoch_s, expires_epoch_s: seconds since 1970-01-01 UTC.
        margins: the tightest place of each check.
        digest: SHA-256 over all the other fields.
        wire_digest: of what the wire carries for each sample (`hil.wire_table`). Empty in certificates of a time before
            it, whose bytes and digest do not know of it: their motions are judged and encoded sample by sample.
    """

    rig_digest: str
    motion_digest: str
    period_s: float
    look_ahead_s: float
    start: tuple[float, ...]
    version: str
    made_epoch_s: float
    expires_epoch_s: float
    margins: tuple[Margin, ...]
    digest: str
    wire_digest: str = ""

    def to_bytes(self) -> bytes:
        """Canonical JSON."""
        return msgspec.json.encode(self, order="deterministic")

    @staticmethod
    def from_bytes(data: bytes) -> Certificate:
        """Read what `to_bytes` wrote.

        Raises:
            RefusedError: anything but the canonical bytes of one untouched certificate.
        """
        try:
            certificate = msgspec.json.decode(data, type=Certificate)
        except (msgspec.MsgspecError, UnicodeError) as error:
            unreadable = _refusal("certificate file", f"must be readable ({error})", "the file as it was written")
            raise RefusedError([unreadable], "certificate refused") from None
        if certificate.to_bytes() != data or certificate.digest != _digest(certificate):
            raise RefusedError([_tampered()], "certificate refused")
        return certificate


def issue(
    rig: Rig,
    motion: Motion,
    findings: Findings,
    now_epoch_s: float,
    *,
    version: str,
    valid_s: float = VALID_S,
    table: WireTable | None = None,
) -> Certificate:
    """Certify a motion that the checker passed.

    Args:
        rig: the set-up it was checked for.
        motion: what was checked.
        findings: what `check_motion` said about this motion on this rig.
        now_epoch_s: seconds since 1970-01-01 UTC.
        version: of this software.
        valid_s: how long the certificate holds.
        table: what the wire will carry; None where every sample is to be judged and encoded anew when it is sent.

    Raises:
        RefusedError: the findings hold refusals.
    """
    if findings.refusals:
        raise RefusedError(findings.refusals, "no certificate: the motion was refused")
    blank = Certificate(
        rig_digest=rig.digest,
        motion_digest=motion.digest,
        period_s=rig.period_s,
        look_ahead_s=rig.look_ahead_s,
        start=tuple(float(value) for value in motion.start),
        version=version,
        made_epoch_s=float(now_epoch_s),
        expires_epoch_s=float(now_epoch_s + valid_s),
        margins=findings.margins,
        digest="",
        wire_digest="" if table is None else table.digest,
    )
    return msgspec.structs.replace(blank, digest=_digest(blank))


def verify(certificate: Certificate, rig: Rig, motion: Motion, now_epoch_s: float, *, version: str) -> None:
    """Make sure that a certificate covers exactly this rig, motion and software, now.

    Raises:
        RefusedError: with one refusal for every mismatch.
    """
    compared = (
        ("rig", certificate.rig_digest, rig.digest, "The rig or robot file has changed since the preview."),
        ("motion", certificate.motion_digest, motion.digest, "This is not the motion that was previewed."),
        ("period", certificate.period_s, rig.period_s, "The rig's period has changed."),
        ("look-ahead", certificate.look_ahead_s, rig.look_ahead_s, "The rig's look-ahead has changed."),
        ("start pose", certificate.start, tuple(motion.start), "The motion starts elsewhere."),
        ("software version", certificate.version, version, "The software has changed since the preview."),
    )
    refusals = [
        _refusal(
            subject,
            f"certified {_short(held, rig.axes)}, found {_short(found, rig.axes)}",
            _short(held, rig.axes),
            f"{why} {AGAIN}",
        )
        for subject, held, found, why in compared
        if held != found
    ]
    if certificate.digest != _digest(certificate):
        refusals.append(_tampered())
    left_s = certificate.expires_epoch_s - now_epoch_s
    if not left_s > 0.0:
        refusals.append(
            _refusal(
                "expiry",
                f"valid for {_hours(certificate.expires_epoch_s - certificate.made_epoch_s)}",
                "a certificate that has not expired",
                AGAIN,
                margin=left_s,
                unit="s",
            )
        )
    if not now_epoch_s >= certificate.made_epoch_s:
        refusals.append(
            _refusal(
                "clock",
                "not before the certificate was made",
                "a clock that is right",
                f"Set the computer's clock. {AGAIN}",
                margin=now_epoch_s - certificate.made_epoch_s,
                unit="s",
            )
        )
    if refusals:
        raise RefusedError(refusals, "certificate refused")


def verify_table(certificate: Certificate, table: WireTable) -> None:
    """Make sure that a table is the one that was certified, as it is now.

    Raises:
        RefusedError: it is another, or was changed.
    """
    found = table.worked_out_digest()
    if found != certificate.wire_digest:
        held = _short(certificate.wire_digest, ())
        why = "What the wire would carry is not what was previewed."
        raise RefusedError(
            [_refusal("wire table", f"certified {held}, found {_short(found, ())}", held, f"{why} {AGAIN}")],
            "certificate refused",
        )


def _digest(certificate: Certificate) -> str:
    blank = msgspec.structs.replace(certificate, digest="")
    return hashlib.sha256(blank.to_bytes()).hexdigest()


def _tampered() -> Refusal:
    return _refusal("certificate file", "must be exactly as it was written", "the untouched certificate")


def _refusal(
    subject: str, limit: str, nearest: str, advice: str = AGAIN, margin: float = -1.0, unit: str = "mismatch"
) -> Refusal:
    return Refusal(
        check=CHECK,
        subject=subject,
        limit=limit,
        margin=margin,
        unit=unit,
        nearest_allowed=nearest,
        advice=advice,
    )


def _short(value: object, axes: Sequence[Axis]) -> str:
    """A value in few words; of a digest, its first twelve digits; of a pose, each axis in its own unit."""
    if isinstance(value, str):
        return value[:12]
    if isinstance(value, float):
        return f"{value * 1e3:g} ms"
    assert isinstance(value, tuple)
    if len(value) != len(axes):
        return f"{len(value)} positions"
    return f"({', '.join(say(axis, part) for axis, part in zip(axes, value, strict=True))})"


def _hours(seconds: float) -> str:
    return f"{seconds / 3600.0:.3g} h"
