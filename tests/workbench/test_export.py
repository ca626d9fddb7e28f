"""What leaves a journal: the same numbers in every format, and nothing where nothing is known."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mcap.reader import make_reader
from recorded import run_to_end, run_to_stop, write_journal
from scipy.io import loadmat
from virtual_session import Session

from hil.errors import HilError, JournalError
from hil.types import EnergiseCommand, JointCommand, Mode
from hil.units import DEG, MM
from hil.workbench.columns import read_columns
from hil.workbench.export import Decimal, Format, export, plain_names


@pytest.fixture(scope="module")
def session() -> Session:
    return run_to_end()


@pytest.fixture(scope="module")
def journal(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_journal(session, tmp_path_factory.mktemp("journal") / "run.mcap")


def _csv(path: Path, **options: Any) -> pandas.DataFrame:
    return pandas.read_csv(path, **options)


def _export(journal: Path, folder: Path, to: Format, **options: Any) -> Path:
    output = folder / f"out.{to.value}"
    export(journal, to, output, **options)
    return output


# -- the numbers -----------------------------------------------------------------------------------------


def test_a_row_is_a_tick_with_both_times(session: Session, journal: Path, tmp_path: Path) -> None:
    table = _csv(_export(journal, tmp_path, Format.CSV))
    assert table["tick"].tolist() == [record.tick for record in session.records]
    assert table["mode"].tolist() == [record.mode.value for record in session.records]
    assert table["monotonic_s"].tolist() == pytest.approx([record.t_s for record in session.records])
    epochs = table["epoch_s"] - table["monotonic_s"]
    assert epochs.tolist() == pytest.approx([1.8e9] * len(table), abs=1e-5)


def test_every_position_is_in_the_unit_that_its_name_says(session: Session, journal: Path, tmp_path: Path) -> None:
    table, last = _csv(_export(journal, tmp_path, Format.CSV)), session.records[-1]
    names = [axis.name for axis in session.rig.axes]
    for i, name in enumerate(names):
        unit, factor = ("mm", MM) if name == "gripper" else ("deg", DEG)
        assert table[f"{name}_simulated_{unit}"].iloc[-1] == pytest.approx(
            last.simulated.positions[i] / factor, abs=1e-6
        )
        assert table[f"{name}_setpoint_{unit}"].iloc[-1] == pytest.approx(last.setpoint[i] / factor, abs=1e-6)


def test_commanded_is_what_was_due_at_the_tick_not_what_was_sent_in_it(session: Session, journal: Path) -> None:
    columns = read_columns(journal)
    at = {round(record.t_s, 6): row for row, record in enumerate(session.records)}
    sent = [record.sent for record in session.records if isinstance(record.sent, JointCommand)]
    rows = [(at[round(command.due_s, 6)], command) for command in sent if round(command.due_s, 6) in at]
    assert len(rows) > 40
    for row, command in rows:
        assert columns.axes[0].commanded[row] == pytest.approx(command.positions[0] / DEG, abs=1e-6)


def test_nothing_is_commanded_before_an_axis_is_driven_for_the_first_time(session: Session, journal: Path) -> None:
    columns = read_columns(journal)
    for i, axis in enumerate(columns.axes):
        first = next(r.tick for r in session.records if isinstance(r.sent, EnergiseCommand) and r.sent.axis == i)
        assert np.isnan(axis.commanded[:first]).all() and np.isfinite(axis.commanded[first:]).all()


def test_nothing_is_commanded_after_a_software_stop(tmp_path: Path) -> None:
    session = run_to_stop()
    columns = read_columns(write_journal(session, tmp_path / "stop.mcap"))
    stopped = np.array([mode is Mode.ESTOP for mode in columns.mode])
    assert stopped.any()
    assert np.isnan(columns.axes[0].commanded[stopped]).all()
    assert np.isfinite(columns.axes[0].commanded[np.flatnonzero(stopped)[0] - 1])


def test_the_error_compares_a_report_with_what_was_due_when_it_was_made(session: Session, journal: Path) -> None:
    columns = read_columns(journal)
    base = columns.axes[0]
    for row in np.flatnonzero(np.isfinite(base.error)):
        reported = session.records[row].reported
        assert reported is not None
        due = np.interp(reported.t_s, columns.monotonic_s, base.commanded)
        assert base.error[row] == pytest.approx(base.reported[row] - due, abs=0.02)


def test_what_is_not_known_is_empty_and_never_zero(session: Session, journal: Path, tmp_path: Path) -> None:
    text = _export(journal, tmp_path, Format.CSV).read_text()
    table = _csv(io.StringIO(text), dtype=str, keep_default_na=False)
    unknown = [record.tick for record in session.records if record.reported is None]
    assert unknown and (table["base_reported_deg"][unknown] == "").all()
    assert (table["reported_how"][unknown] == "").all()
    assert "nan" not in text.lower() and "-0.000000" not in text


def test_a_gap_shows_in_the_numbers_the_words_and_what_is_known(session: Session, tmp_path: Path) -> None:
    first = next(r.tick for r in session.records if r.mode is Mode.STREAMING) + 20
    journal = write_journal(session, tmp_path / "gap.mcap", gap=(first, first + 9))
    table = _csv(_export(journal, tmp_path, Format.CSV))
    row = table.index[table["tick"] == first + 10][0]
    assert table["tick"][row - 1] == first - 1
    assert "10 ticks" in table["events"][row]
    assert np.isnan(table["base_commanded_deg"][row])


def test_kept_rows_stand_for_those_left_out(session: Session, journal: Path, tmp_path: Path) -> None:
    table = _csv(_export(journal, tmp_path, Format.CSV, every=7))
    assert len(table) == -(-len(session.records) // 7)
    assert table["written_bytes"].sum() == sum(len(record.written) for record in session.records)
    assert table["late_ms"].max() == pytest.approx(max(record.late_s for record in session.records) * 1e3)
    assert sum(table["events"].dropna().str.count("->")) == sum(event.count("->") for event in session.events)


def test_a_cut_journal_gives_what_is_whole(session: Session, tmp_path: Path) -> None:
    journal = write_journal(session, tmp_path / "cut.mcap", closed=False)
    journal.write_bytes(journal.read_bytes()[:-200])
    assert len(_csv(_export(journal, tmp_path, Format.CSV))) == len(session.records) - 1


def test_the_guide_explains_every_column(journal: Path, tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs/journal.md").read_text("utf-8")
    names = {axis.name for axis in read_columns(journal).axes} - {"base"}
    for column in _csv(_export(journal, tmp_path, Format.CSV)).columns:
        if not column.startswith(tuple(f"{name}_" for name in names)):
            assert f"`{column.replace('base_', 'AXIS_')}`" in guide


# -- the formats -----------------------------------------------------------------------------------------


def test_a_decimal_comma_gives_the_same_table_to_a_program_that_expects_one(journal: Path, tmp_path: Path) -> None:
    (tmp_path / "comma").mkdir()
    comma = _export(journal, tmp_path / "comma", Format.CSV, decimal=Decimal.COMMA)
    assert comma.read_bytes().startswith(b"\xef\xbb\xbftime_s;epoch_s;")
    point = _csv(_export(journal, tmp_path, Format.CSV))
    pandas.testing.assert_frame_equal(_csv(comma, sep=";", decimal=","), point)


def test_a_mat_file_opens_with_scipy_and_holds_the_same_columns(journal: Path, tmp_path: Path) -> None:
    table = _csv(_export(journal, tmp_path, Format.CSV))
    content = loadmat(_export(journal, tmp_path, Format.MAT), squeeze_me=True)
    for name in table.columns.drop(["mode", "reported_how", "events"]):
        np.testing.assert_allclose(content[name], table[name].to_numpy(float), atol=1e-6)
    words = [content["mode_names"][int(code) - 1] for code in content["mode"]]
    assert words == table["mode"].tolist()
    assert np.isnan(content["reported_how"]).sum() == table["reported_how"].isna().sum()
    assert str(content["session"]["rig"]) == "lynx6" and "armed" in " ".join(content["event_text"])


def test_json_lines_open_with_pandas_and_say_null(journal: Path, tmp_path: Path) -> None:
    path = _export(journal, tmp_path, Format.JSONL)
    table, lines = _csv(_export(journal, tmp_path, Format.CSV)), path.read_text().splitlines()
    read = pandas.read_json(io.StringIO(path.read_text()), lines=True)
    np.testing.assert_allclose(read["base_simulated_deg"], table["base_simulated_deg"], atol=1e-6)
    assert json.loads(lines[0])["base_reported_deg"] is None


def test_the_plotting_file_has_an_index_and_channels_by_name_and_unit(journal: Path, tmp_path: Path) -> None:
    table = _csv(_export(journal, tmp_path, Format.CSV))
    with _export(journal, tmp_path, Format.MCAP).open("rb") as file:
        reader = make_reader(file)
        summary = reader.get_summary()
        assert summary is not None and summary.chunk_indexes
        messages = [(c.topic, m, json.loads(m.data)) for _, c, m in reader.iter_messages()]
        properties = {
            channel.topic: json.loads(summary.schemas[channel.schema_id].data)["properties"]
            for channel in summary.channels.values()
        }
    axes = [data for topic, _, data in messages if topic == "axes"]
    wrist = [data["wrist_rotate"]["simulated_deg"] for data in axes]
    np.testing.assert_allclose(wrist, table["wrist_rotate_simulated_deg"], atol=1e-6)
    assert set(axes[0]) == {"base", "shoulder", "elbow", "wrist", "wrist_rotate", "gripper"}
    assert properties["axes"]["gripper"]["properties"]["error_mm"] == {"type": "number"}
    assert properties["loop"]["mode"] == {"type": "string"}
    assert any("armed" in data["message"] for topic, _, data in messages if topic == "events")
    offsets = {message.log_time - message.publish_time for _, message, _ in messages}
    assert len(offsets) == 1 and offsets.pop() == pytest.approx(1.8e9 * 1e9)


def test_a_journal_itself_carries_what_plotting_programs_look_for(journal: Path) -> None:
    """PlotJuggler reads statistics, channels and schemas from the summary; arrays are plotted item by item."""
    with journal.open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None and summary.statistics is not None
    topics = {channel.topic: summary.schemas[channel.schema_id] for channel in summary.channels.values()}
    assert set(topics) == {"session", "tick", "gap", "end"}
    assert {schema.encoding for schema in topics.values()} == {"jsonschema"}
    data = json.loads(topics["tick"].data)["properties"]["data"]["properties"]
    for place in (data["sent"], data["simulated"], data["reported"]):
        assert place["properties"]["positions"] == {"type": "array", "items": {"type": "number"}}
    assert data["setpoint"] == {"type": "array", "items": {"type": "number"}}


# -- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", Format)
def test_a_file_that_is_there_is_not_overwritten(journal: Path, tmp_path: Path, to: Format) -> None:
    output = tmp_path / "kept"
    output.write_text("mine")
    with pytest.raises(JournalError, match="exists already; name another file with -o"):
        export(journal, to, output)
    assert output.read_text() == "mine"


def test_an_export_that_cannot_be_written_leaves_nothing(journal: Path, tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be written: No such file"):
        export(journal, Format.CSV, tmp_path / "no" / "folder.csv")


def test_without_scipy_a_mat_file_is_refused_in_one_line_with_the_way_out(
    journal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scipy.io", None)
    with pytest.raises(HilError, match=r"a MAT file needs a package.*hil-arm-bridge\[export\].*csv") as refusal:
        export(journal, Format.MAT, tmp_path / "out.mat")
    assert "\n" not in str(refusal.value) and not list(tmp_path.iterdir())


def test_a_journal_without_a_tick_says_so(session: Session, tmp_path: Path) -> None:
    empty = write_journal(session, tmp_path / "empty.mcap", closed=False)
    whole = empty.read_bytes()
    empty.write_bytes(whole[: whole.index(b'"type":"tick"')])
    with pytest.raises(JournalError, match="not a single tick"):
        export(empty, Format.CSV, tmp_path / "out.csv")


@example(["0" * 90] * 6)
@given(st.lists(st.text(min_size=1, max_size=90), min_size=1, max_size=6))
def test_names_of_columns_suit_every_program_and_stay_different(names: list[str]) -> None:
    plain = plain_names(names)
    assert len(set(plain)) == len(names)
    for name in plain:
        assert name.isidentifier() and name.isascii() and name[0].isalpha()
        assert len(f"{name}_simulated_error_deg") <= 63
