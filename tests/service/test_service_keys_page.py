"""The page for the lab's owner says what is so: its class can be read, its settings are all of them."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.inspect import StructType, type_info

from hil.service.rosters import read_roster
from hil.service.settings import ArmSettings, Settings

PAGE = (Path(__file__).parents[2] / "docs" / "service-keys.md").read_text(encoding="utf-8")


def _keys() -> set[str]:
    top = type_info(Settings)
    assert isinstance(top, StructType)
    keys = {f"arms.NAME.{name}" for name in ArmSettings.__struct_fields__}
    for field in top.fields:
        if isinstance(field.type, StructType):
            keys |= {f"{field.name}.{inner.name}" for inner in field.type.fields}
        elif field.name != "arms":
            keys.add(field.name)
    return keys


def test_the_example_of_a_class_can_be_read() -> None:
    (table,) = re.findall(r"```csv\n(.*?)```", PAGE, re.DOTALL)
    rows = read_roster(table.encode(), "page", ["left", "right"])
    assert [row.user for row in rows] == ["Ana López", "Ben", "Tess"]


def test_every_setting_is_explained_and_no_other() -> None:
    section = PAGE.split("## Settings")[1].split("\n## ")[0]
    explained: set[str] = set()
    for line in section.splitlines():
        if line.startswith("| `"):
            names = re.findall(r"`([a-zA-Z_.]+)`", line.split("|")[1])
            table = names[0].rpartition(".")[0]
            explained |= {name if "." in name or not table else f"{table}.{name}" for name in names}
    assert explained == _keys()
