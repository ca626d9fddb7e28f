"""Every script has a short form, and is started by the shell script of its name."""

from __future__ import annotations

import pytest
from script_module import SCRIPTS, load_script

STARTED = sorted(path.name for path in SCRIPTS.iterdir() if path.is_file() and not path.name.startswith("_"))
OTHERWISE = ("check", "test", "coverage", "demo", "screens", "docs", "page-parts")
"""Start more than one program, or, as the parts of the page, have to run before there is an environment."""
PROGRAMS = {name for name in STARTED if name not in OTHERWISE}


once = load_script("once")


def test_every_script_has_a_short_form_or_a_reason() -> None:
    assert {form.script for form in once.FORMS} | set(once.WITHOUT) == set(STARTED)
    assert not {form.script for form in once.FORMS} & set(once.WITHOUT)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_script_starts_the_program_of_its_name(name: str) -> None:
    program = f"scripts/_{name.replace('-', '_')}.py"
    assert f'exec "$python" {program} "$@"\n' in (SCRIPTS / name).read_text("utf-8")
    assert (SCRIPTS.parent / program).exists()
