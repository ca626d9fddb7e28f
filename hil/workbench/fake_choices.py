"""The choices of the fakes as text: for `hil fake --list`, and as the tables of their pages."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from hil.runtime.wiring import choice_text, fake_profiles

WHOLE = {"ssc32": "ssc32-2x", "cr1": "cr1"}
"""By controller, the profile in which every choice stands."""

_WIDE = 112


def listing() -> Iterator[str]:
    """Profiles by name, then per controller every choice: default first, who says so, how sure that is."""
    profiles = fake_profiles()
    yield "profiles, for --profile NAME"
    for profile in profiles:
        yield f"  {profile.name:12} {profile.controller:6} {profile.title}"
    for controller, whole in WHOLE.items():
        yield ""
        yield f"choices of {controller}, for --set KEY=VALUE"
        for profile in profiles:
            if profile.name != whole:
                continue
            for key, choice in profile.choices.items():
                values = " | ".join(map(choice_text, (choice.value, *choice.others)))
                yield f"  {key} = {values}"
                sure = f" [{choice.confidence.value}]" if choice.confidence else ""
                words = f"{choice.what}. {choice.source}{sure}"
                yield from textwrap.wrap(words, _WIDE, initial_indent="      ", subsequent_indent="      ")


def table(controller: str) -> list[str]:
    """The lines of the table in the page of a fake."""
    profile = next(each for each in fake_profiles() if each.name == WHOLE[controller])
    lines = ["| choice | what | default | others | source | sure |", "|---|---|---|---|---|---|"]
    for key, choice in profile.choices.items():
        others = ", ".join(f"`{choice_text(each)}`" for each in choice.others).replace("|", "\\|")
        sure = choice.confidence.value if choice.confidence else ""
        what, source = choice.what.replace("|", "\\|"), choice.source
        lines.append(f"| `{key}` | {what} | `{choice_text(choice.value)}` | {others} | {source} | {sure} |")
    return lines
