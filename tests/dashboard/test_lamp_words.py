"""The window's lamp and the page's say the same words."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

pytest.importorskip("PySide6")
from hil.dashboard.texts import LAMPS, OFF, OLD, WAITING
from hil.service.wire import Lamp


def test_every_state_has_the_word_that_page_and_wall_have() -> None:
    table = (files("hil.service") / "page" / "words_lamp.js").read_text(encoding="utf-8")
    english = table.partition("const en = {")[2].partition("};")[0]
    ours = {each.value: words for each, words in LAMPS.items()} | {"off": OFF, "waiting": WAITING, "old": OLD}
    assert dict(re.findall(r'lamp_([a-z]+): "([^"]*)"', english)) == ours
    assert set(LAMPS) == set(Lamp)
