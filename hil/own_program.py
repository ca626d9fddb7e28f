"""This very program, begun in a process of its own. The folder that somebody stands in is not looked in for modules."""

from __future__ import annotations

import sys

PYTHON = (sys.executable, "-P")
HIL = (*PYTHON, "-c", "import sys; sys.argv[0] = 'hil'; from hil.cli.main import main; main()")
"""Before the words of a command."""
