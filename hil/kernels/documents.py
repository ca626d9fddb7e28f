"""An arm's equations as files to read: a LaTeX document, a text.

Kinematics is simplified where the extra [symbolic] is installed; the rest, and everything without it, stands in
straight-line definitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hil.kernels.emit_latex import displays, equation_lines, escaped, symbol
from hil.kernels.emit_text import plain_text
from hil.kernels.export_options import Options
from hil.kernels.languages import arm_prefix, heading
from hil.kernels.readable import KINEMATICS, matrices, simplified_latex, simplified_text, symbols_available
from hil.kernels.routine import Routine
from hil.model.robot import RobotModel

TEXT_NOTE = "Brackets count from 0, joints from 1; c1 is the cosine of q1, s23 the sine of q2 + q3."
LATEX_NOTE = "Joints, rows and columns count from 1; $c_1$ is the cosine of $q_1$, $s_{23}$ the sine of $q_2 + q_3$."
NOT_SIMPLIFIED = " Kinematics is not simplified: that needs pip install 'hil-arm-bridge[symbolic]'."


def text_files(model: RobotModel, routines: Sequence[Routine], options: Options) -> Mapping[str, str]:
    """One text with everything."""
    parts = ["\n".join([*heading(model), "", f"{TEXT_NOTE}{_lack(routines)}"])]
    for routine in routines:
        if _simplified(routine):
            parts.append(f"{routine.name}: {routine.summary}\n\n{simplified_text(matrices(model, routine.name))}")
        else:
            parts.append(plain_text(routine))
    return {f"{arm_prefix(model)}.txt": "\n\n".join(part.rstrip() for part in parts) + "\n"}


def latex_files(model: RobotModel, routines: Sequence[Routine], options: Options) -> Mapping[str, str]:
    """One document that compiles by itself."""
    comment = [f"% {line}".rstrip() for line in heading(model)]
    title = rf"\section*{{{escaped(model.title) or escaped(model.id)}}}"
    parts = ["\n".join([*comment, _PREAMBLE, title, f"{LATEX_NOTE}{_lack(routines)}"])]
    parts += [_section(model, routine) for routine in routines]
    return {f"{arm_prefix(model)}.tex": "\n\n".join([*parts, "\\end{document}", ""])}


def _section(model: RobotModel, routine: Routine) -> str:
    simplified = _simplified(routine)
    lines = simplified_latex(matrices(model, routine.name)) if simplified else equation_lines(routine)
    parts = [(argument.name, argument.meaning) for argument in routine.arguments]
    parts += [(result.name, result.meaning) for result in routine.results]
    meanings = [f"${symbol(name)}$: {escaped(meaning)}" for name, meaning in parts]
    return "\n".join(
        [
            rf"\subsection*{{{escaped(routine.summary)}}}",
            f"{'; '.join(meanings)}.",
            *displays(lines, "align*"),
        ]
    )


def _simplified(routine: Routine) -> bool:
    return routine.name in KINEMATICS and symbols_available()


def _lack(routines: Sequence[Routine]) -> str:
    wanted = any(routine.name in KINEMATICS for routine in routines)
    return NOT_SIMPLIFIED if wanted and not symbols_available() else ""


_PREAMBLE = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{amsmath}
\usepackage[a4paper,landscape,margin=15mm]{geometry}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\begin{document}"""
