"""Types a lab's lines in this process, without a start of Python for each; and a small page."""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
import traceback
from pathlib import Path

from hil.errors import HilError
from hil.labs.lab_typist import Typed

PAGE = """# A page

| | |
|---|---|
| time | 5 minutes |
| arm | lynx6 |
| paper | none |

## Aim

One thing.

## Theory

Half a page.

## Steps

```toml
# it.toml
title = "it"
```

```console
$ hil fk lynx6 0
X 1.500  Y ...
$ hil ik lynx6 400 0 300   # refused: exit code 1
$ hil run lynx6 wave   # long
```

| number | read at | expected | tolerance | source |
|---|---|---|---|---|
| X, mm | `X #` | 1.5 | 0.01 | by hand |
| list | `.found` | 2 | 0 | by hand |

```python
print(1)
```

## Questions

1. Why?
"""


class HereTypist:
    """A typist of `hil.labs.lab_runner` in the folder where this process stands."""

    def hil(self, words: str) -> Typed:
        from hil.cli import app

        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = _code_of(lambda: app.app(shlex.split(words)[1:]))
        return Typed(code, out.getvalue())

    def python(self, text: str) -> Typed:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = _code_of(lambda: exec(compile(text, "lab", "exec"), {"__name__": "__main__"}))
        return Typed(code, out.getvalue())

    def begin(self, words: str) -> Typed:
        raise AssertionError(f"{words}: a command that goes on is for a run in processes")


def _code_of(call) -> int:  # type: ignore[no-untyped-def]
    try:
        call()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except HilError as error:
        sys.stdout.write(f"{error}\n")
        return 1
    except Exception:
        traceback.print_exc(file=sys.stdout)
        return 70
    return 0


def empty(folder: Path) -> Path:
    """A folder for a lab."""
    made = folder / "lab"
    made.mkdir()
    return made
