"""Previews as a service makes them, in this process, for a pretended one."""

from __future__ import annotations

from msgspec.structs import replace
from pretend import NOW_EPOCH_S, Previewer

from hil.model.rig import Rig
from hil.service.uploads import Job, judge, told
from hil.service.wire import Previewed, Timeline, decode_body

ENDS_EPOCH_S = NOW_EPOCH_S + 8 * 3600.0


def previewer(rig: Rig) -> Previewer:
    """What a `PretendLink` asks for answers to uploads."""

    def preview(
        text: str, name: str, language: str, points: str, start: tuple[float, ...]
    ) -> tuple[Previewed, Timeline | None]:
        job = Job(arm="arm", language=language, name=name, text=text, points=points, start=start, timeline=True)  # type: ignore[arg-type]
        verdict = judge({"arm": rig}, job)
        timeline = decode_body(verdict.timeline, Timeline) if verdict.timeline else None
        answer = told("arm", verdict, "Ada")
        return replace(answer, until_epoch_s=ENDS_EPOCH_S if verdict.ok else None), timeline

    return preview
