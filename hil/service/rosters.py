"""A whole class from one table: CSV as spreadsheets write it, with commas, semicolons or tabs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence

from hil.errors import CommandError, ConfigError
from hil.service.grants import EVERY_ARM, check_user
from hil.service.rights import Role
from hil.tables import closest
from hil.types import Record

COLUMNS = ("name", "arm", "role", "speed_percent", "from", "until")
MOST_ROWS = 1000
_MARKS = ",;\t"


class RosterRow(Record, frozen=True):
    """One person; what the table leaves open is None.

    Attributes:
        arms: ids of arms, or `EVERY_ARM` alone.
        begin: as it was typed.
        end: as it was typed.
    """

    user: str
    arms: tuple[str, ...] | None
    role: Role | None
    speed_percent: float | None
    begin: str | None
    end: str | None


def read_roster(data: bytes, file: str, arms: Sequence[str]) -> tuple[RosterRow, ...]:
    """Read a class.

    Args:
        data: the file. Its first row names the columns, `COLUMNS` in any order; only ``name`` has to be there.
            Several arms in one cell are parted by blanks.
        file: name for messages.
        arms: ids of the lab's arms.

    Raises:
        ConfigError: a column or cell is wrong, or two rows have the same name; the row is named.
    """
    table = _table(data, file)
    heads = _heads(table[0] if table else [], file)
    rows: dict[str, RosterRow] = {}
    for number, cells in enumerate(table[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(heads):
            allowed = f"{len(heads)} cells, one for each column"
            raise ConfigError(
                file, f"row {number}", len(cells), allowed, "A comma within a cell needs quotes around it"
            )
        row = _row({head: cell.strip() for head, cell in zip(heads, cells, strict=True)}, file, number, arms)
        if row.user.casefold() in rows:
            raise ConfigError(file, f"row {number}, name", row.user, "a name that no row above has")
        rows[row.user.casefold()] = row
        if len(rows) > MOST_ROWS:
            raise ConfigError(file, f"row {number}", f"{len(rows)} people", f"at most {MOST_ROWS} in one file")
    if not rows:
        raise ConfigError(file, "rows", "none", "a row for each person below the row of columns")
    return tuple(rows.values())


def _table(data: bytes, file: str) -> list[list[str]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        advice = "Save the table as CSV UTF-8"
        raise ConfigError(file, f"byte {error.start}", error.object[error.start], "UTF-8 text", advice) from None
    first = text.splitlines()[0] if text else ""
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=max(_MARKS, key=first.count), strict=True))
    except csv.Error as error:
        raise ConfigError(file, "quotes", str(error), "a table as CSV, each opening quote closed") from None


def _heads(row: Sequence[str], file: str) -> list[str]:
    heads = [head.strip().lower() for head in row]
    for head in heads:
        if head not in COLUMNS:
            meant = closest(head, COLUMNS)
            advice = f"Did you mean {meant!r}?" if meant else ""
            raise ConfigError(file, "row 1", head, f"columns {', '.join(COLUMNS)}", advice)
    if "name" not in heads or len(set(heads)) < len(heads):
        raise ConfigError(file, "row 1", ", ".join(heads), "each column once, `name` among them")
    return heads


def _row(cells: Mapping[str, str], file: str, number: int, arms: Sequence[str]) -> RosterRow:
    def wrong(column: str, allowed: str) -> ConfigError:
        return ConfigError(file, f"row {number}, {column}", cells[column], allowed)

    try:
        check_user(cells["name"])
    except CommandError as error:
        raise wrong("name", error.allowed) from None
    wanted = tuple(cells.get("arm", "").split()) or None
    if wanted is not None and wanted != (EVERY_ARM,) and not set(wanted) <= set(arms):
        raise wrong("arm", f"{', '.join(arms)}, or {EVERY_ARM} for all")
    role = cells.get("role", "").lower() or None
    if role is not None and role not in [known.value for known in Role]:
        raise wrong("role", ", ".join(known.value for known in Role))
    return RosterRow(
        user=cells["name"],
        arms=wanted,
        role=None if role is None else Role(role),
        speed_percent=_percent(cells["speed_percent"], wrong) if cells.get("speed_percent") else None,
        begin=cells.get("from") or None,
        end=cells.get("until") or None,
    )


def _percent(cell: str, wrong: Callable[[str, str], ConfigError]) -> float:
    try:
        percent = float(cell.removesuffix("%").replace(",", "."))
    except ValueError:
        percent = 0.0
    if not 0.0 < percent <= 100.0:
        raise wrong("speed_percent", "above 0 to 100")
    return percent
