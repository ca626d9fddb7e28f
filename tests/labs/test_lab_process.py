"""A lab typed by processes, as `hil labs run` and `scripts/labs` do."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_here import PAGE

from hil.labs.lab_page import read_lab
from hil.labs.lab_runner import run_in
from hil.labs.lab_typist import ProcessTypist

STEPS = """```console
$ hil fake ssc32 &
$ hil fk planar-2r 30 60
```

| number | read at | expected | tolerance | source |
|---|---|---|---|---|
| Y, mm | `Y #` | 1500 | 0.001 | by hand |

```python
import os
place = os.path.basename(os.environ["HOME"]), os.path.basename(os.getcwd())
```

```python
print(*place, 7)
```

| number | read at | expected | tolerance | source |
|---|---|---|---|---|
| seven | `home lab #` | 7 | 0 | by hand |
"""


@pytest.mark.processes
def test_lines_are_typed_in_a_home_of_their_own_and_what_goes_on_is_ended(tmp_path: Path) -> None:
    head, _, _ = PAGE.partition("```toml")
    page = read_lab(f"{head}{STEPS}\n## Questions\n\n1. Why?\n", "page")
    for name in ("lab", "home"):
        (tmp_path / name).mkdir()
    with ProcessTypist(tmp_path / "lab", tmp_path / "home") as typist:
        outcome = run_in(page, tmp_path / "lab", typist)
        (fake,) = typist.going_on
        assert fake.poll() is None
    assert outcome.wrong == () and outcome.commands == 4
    assert fake.poll() is not None
