"""What is known of robots, in the window of the lessons: every number with its source, three in one table."""

from __future__ import annotations

from qt_ready import require_qt

require_qt()

from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from PySide6.QtGui import QGuiApplication  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from hil.cli.app import app  # noqa: E402
from hil.lessons.specification import facts_of  # noqa: E402
from hil.model.files import list_names  # noqa: E402
from hil.model.reader import load_robot  # noqa: E402
from hil.model.specification import NOT_GIVEN  # noqa: E402

Make = Callable[..., Any]


@pytest.mark.parametrize("name", ["puma560", "lynx6", "stanford"])
def test_no_value_is_invented_where_the_file_lacks_it(name: str) -> None:
    """S1-02: values equal the model's file; what it lacks is not given, and has no source."""
    model = load_robot(name)
    facts = {fact.key: fact for fact in facts_of(model)}
    for number, joint in enumerate(model.joints, start=1):
        for key, value in (("lower", joint.lower), ("upper", joint.upper), ("speed", joint.max_speed)):
            assert (facts[f"joint {number}: {key}"].value == NOT_GIVEN) == (value is None)
        assert float(facts[f"joint {number}: a"].value.split()[0]) == pytest.approx(1000.0 * joint.a_m, rel=1e-5)
        assert (facts[f"link {number}: mass"].value == NOT_GIVEN) == (model.inertia is None)
    assert (facts["payload"].value == NOT_GIVEN) == (model.payload_kg is None)
    assert all(bool(fact.source) == (fact.value != NOT_GIVEN) for fact in facts.values())


def test_every_robot_has_all_facts() -> None:
    """S1-01: units, limits, source of each."""
    for name in list_names("robots"):
        model = load_robot(name)
        assert len(facts_of(model)) == 11 + 16 * model.dof and all(fact.value for fact in facts_of(model)), name


def test_three_robots_stand_side_by_side_each_number_with_its_source(make_lessons: Make) -> None:
    """S1-02, S3-20: one table, three arms; a number that is pointed at tells its source; undo."""
    window = make_lessons("puma560", "specification")
    view = window.shell.view
    view.others[0].setCurrentText("lynx6")
    view.others[1].setCurrentText("kuka-kr5-arc")
    table = view.table
    assert [table.horizontalHeaderItem(k).text() for k in range(4)] == ["", "puma560", "lynx6", "kuka-kr5-arc"]
    keys = [table.item(row, 0).text() for row in range(table.rowCount())]
    row = keys.index("joint 2: a")
    assert table.item(row, 1).text() == "431.8 mm [1]"
    table.setCurrentCell(row, 1)
    assert load_robot("puma560").source in view.source.text()
    table.setCurrentCell(keys.index("joint 1: speed"), 1)
    assert "no source gives it" in view.source.text() and NOT_GIVEN in view.source.text()
    assert table.item(keys.index("joint 6: a"), 2).text() == "", "the second one has five joints"
    arms = window.shell.picture().arms
    assert [arm.model.id for arm in arms] == ["puma560", "lynx6", "kuka-kr5-arc"]
    assert np.ptp([arm.frames[0, 1, 3] for arm in arms]) > 1.0
    view.undo()
    assert len(window.shell.picture().arms) == 2 and view.others[1].currentIndex() == 0


def test_the_table_says_what_hil_robots_says(make_lessons: Make) -> None:
    window = make_lessons("puma560", "specification")
    window.shell.view.others[0].setCurrentText("rv2aj")
    window.shell.copy.click()
    for line, model in zip(QGuiApplication.clipboard().text().splitlines(), window.shell.view.models, strict=True):
        told = CliRunner().invoke(app, [*line.split()[1:]])
        assert told.exit_code == 0
        facts = {fact.key: fact.value for fact in facts_of(model)}
        for number in range(1, model.dof + 1):
            assert facts[f"joint {number}: d"].split()[0] in told.output
        assert facts["reach, stretched out"] in told.output
    sheet = window.shell.view.data()
    assert "source of rv2aj" in sheet.heads and '"' not in sheet.csv_text().splitlines()[0]
