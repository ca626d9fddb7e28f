"""C99, C++17 and Arduino libraries: they compile strictly, check themselves, and never write what is not finite."""

from __future__ import annotations

import ctypes
import math
import re
import struct
import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from exported import STRICT, built, library, needs_gcc, needs_gpp, run, written
from formulas import FORMULAS, on_floats, routine_of
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.kernels.c_text import literal
from hil.kernels.check_vectors import check_vectors, evaluated
from hil.kernels.emit_c import c_files
from hil.kernels.emit_cpp import cpp_files
from hil.kernels.export import LANGUAGES, export
from hil.kernels.export_options import Layout, Options, Real
from hil.kernels.languages import identifier
from hil.kernels.routine import Argument, Routine, draft
from hil.model.files import list_names
from hil.model.reader import load_robot

PUMA = load_robot("puma560")
FLOAT = Options(real=Real.FLOAT)
NOT_FINITE, NEAR_SINGULAR, OUT_OF_REACH, DOES_NOT_FIT = 1, 2, 3, 4
POINTS = [(0.3, -0.7, 1.9), (-0.4, 0.8, -1.3), (-1.1, -0.6, 0.5), (0.9, 1.2, -0.2)]


@needs_gcc
@pytest.mark.parametrize("robot", ["puma560", "adept-cobra600", "stanford", "panda"])
def test_the_c_files_of_a_folder_make_one_program_that_agrees_with_the_equations(robot: str, tmp_path: Path) -> None:
    folder = written(export(load_robot(robot), ["all"], "c", Options()).files, tmp_path)
    code, printed = run(built("gcc", ("-std=c99",), sorted(folder.glob("*.c")), tmp_path / "check"))
    assert code == 0, printed
    differences = [float(text) for text in re.findall(r"worst difference (\S+)$", printed, re.MULTILINE)]
    assert len(differences) >= 4 and max(differences) < 1e-12


@needs_gcc
@pytest.mark.parametrize("robot", ["puma560", "adept-cobra600"])
def test_with_floats_every_operation_is_one_of_floats(robot: str, tmp_path: Path) -> None:
    folder = written(export(load_robot(robot), ["all"], "c", FLOAT).files, tmp_path)
    strict = ("-std=c99", "-Wdouble-promotion", "-Wfloat-conversion")
    code, printed = run(built("gcc", strict, sorted(folder.glob("*.c")), tmp_path / "check"))
    assert code == 0, printed
    [source] = [path.read_text() for path in folder.glob("*.c") if path.name != "check.c"]
    assert "double" not in source
    assert not re.search(r"\b(sin|cos|atan2|sqrt|fmax)\(", source)
    assert not re.search(r"\d\.\d+(e[-+]\d+)?(?![\df.e])", source.partition("#include")[2])


@needs_gpp
@pytest.mark.parametrize(("robot", "real"), [("puma560", Real.DOUBLE), ("stanford", Real.FLOAT)])
def test_the_cpp_files_of_a_folder_make_one_program_that_agrees(robot: str, real: Real, tmp_path: Path) -> None:
    folder = written(export(load_robot(robot), ["all"], "cpp", Options(real=real)).files, tmp_path)
    strict = ("-std=c++17", *(["-Wdouble-promotion"] if real is Real.FLOAT else []))
    code, printed = run(built("g++", strict, sorted(folder.glob("*.cpp")), tmp_path / "check"))
    assert code == 0, printed


@needs_gpp
def test_a_status_that_is_not_looked_at_is_a_warning_in_cpp(tmp_path: Path) -> None:
    folder = written(export(PUMA, ["fk"], "cpp", Options()).files, tmp_path)
    lines = ['#include "puma560.hpp"', "int main() { std::array<double, 6> q{}; std::array<double, 16> pose{};"]
    (folder / "main.cpp").write_text("\n".join([*lines, "puma560::forward_kinematics(q, pose); return 0; }\n"]))
    command = ["g++", "-std=c++17", *STRICT, "-c", str(folder / "main.cpp"), "-o", str(folder / "main.o")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "nodiscard" in done.stderr


@needs_gcc
def test_the_header_of_c_is_taken_by_cpp_too(tmp_path: Path) -> None:
    folder = written(export(PUMA, ["fk"], "c", Options()).files, tmp_path)
    (folder / "main.cpp").write_text('#include "puma560.h"\nint main() { return PUMA560_OK; }\n')
    subprocess.run(["gcc", "-x", "c++", *STRICT, "-c", "main.cpp"], cwd=folder, check=True, timeout=60)


@needs_gcc
def test_two_arms_live_in_one_program(tmp_path: Path) -> None:
    for robot in ("puma560", "stanford"):
        written(export(load_robot(robot), ["fk", "jacobian"], "c", Options()).files, tmp_path)
    assert len(list(tmp_path.glob("*.c"))) == 3
    assert run(built("gcc", ("-std=c99",), sorted(tmp_path.glob("*.c")), tmp_path / "check"))[0] == 0


@needs_gcc
def test_a_wrong_number_in_the_source_fails_the_check(tmp_path: Path) -> None:
    folder = written(export(PUMA, ["fk", "jacobian"], "c", Options()).files, tmp_path)
    source = folder / "puma560.c"
    whole, length = source.read_text(), "0.4318 *"
    before, _, after = whole.rpartition(length)
    source.write_text(f"{before}0.4319 *{after}")
    code, printed = run(built("gcc", ("-std=c99",), sorted(folder.glob("*.c")), tmp_path / "check"))
    assert code == 1
    assert "1 of 2 functions within" in printed


@needs_gcc
@settings(max_examples=3)
@given(st.lists(FORMULAS, min_size=20, max_size=30))
def test_random_formulas_in_c_agree_with_floats(tmp_path_factory: pytest.TempPathFactory, formulas) -> None:
    # The graph knows no minus zero, so a formula that stands on a cut may end on its other side.
    clear = [f for f in formulas if all(on_floats(f, point)[1].margin > 1e-9 for point in POINTS)]
    routines = [routine_of([formula], f"formula_{i}") for i, formula in enumerate(clear)]
    folder = written(c_files(PUMA, routines, Options(vectors=4)), tmp_path_factory.mktemp("formulas"))
    code, printed = run(built("gcc", ("-std=c99",), sorted(folder.glob("*.c")), folder / "check"))
    assert code == 0, printed


def conditions(name: str) -> Routine:
    """Results: a copy of the argument, its root, a condition of the given name, and what exists."""

    def body(t0: Sequence[float], scale: float, functions):  # type: ignore[no-untyped-def]
        root = functions.sqrt(functions.maximum(t0[0], 0.0))
        return {
            "t0": ((2,), [scale * value for value in t0], "scaled, under the name of an argument"),
            "root": ((), [root], "a scalar"),
            "exists": ((2,), [t0[0] + 1.0, t0[0] + 2.0], "not negative where it does"),
            name: ((), [t0[1] + root], "condition"),
        }

    return draft("example", "Example.", [Argument("t0", 2, "named like a step"), Argument("scale", 0, "factor")], body)


class Example:
    """The function of `conditions`, called from Python."""

    def __init__(self, folder: Path, name: str = "status") -> None:
        written(c_files(PUMA, [conditions(name)], Options()), folder)
        self._function = library(folder / "puma560.c").puma560_example
        self.copy, self.root, self.exists = (ctypes.c_double * 2)(7, 7), ctypes.c_double(7), (ctypes.c_double * 2)(7, 7)

    def call(self, x: float, y: float, scale: float = 2.0) -> int:
        given = (ctypes.c_double * 2)(x, y)
        root = ctypes.byref(self.root)
        status: int = self._function(given, ctypes.c_double(scale), self.copy, root, self.exists)
        return status

    @property
    def untouched(self) -> bool:
        return [*self.copy, self.root.value, *self.exists] == [7] * 5


@needs_gcc
def test_a_function_without_trouble_writes_its_results_and_says_so(tmp_path: Path) -> None:
    example = Example(tmp_path)
    assert example.call(4.0, 1.0) == 0
    assert [*example.copy, example.root.value, *example.exists] == [8.0, 2.0, 2.0, 5.0, 6.0]


@needs_gcc
def test_arguments_that_are_not_finite_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    example = Example(tmp_path)
    for bad in (math.nan, math.inf, -math.inf):
        assert [example.call(bad, 1.0), example.call(1.0, bad), example.call(1.0, 1.0, bad)] == [NOT_FINITE] * 3
    assert example.untouched


@needs_gcc
def test_results_that_overflow_are_not_written(tmp_path: Path) -> None:
    example = Example(tmp_path)
    assert example.call(1e300, 1e300, 1e300) == NOT_FINITE
    assert example.untouched


@needs_gcc
@pytest.mark.parametrize("name", ["status", "regular", "smallest_pivot"])
def test_below_its_condition_a_function_says_near_singular_and_writes_nothing(name: str, tmp_path: Path) -> None:
    example = Example(tmp_path, name)
    assert example.call(4.0, -2.5) == NEAR_SINGULAR
    assert example.untouched
    assert example.call(4.0, -1.5) == 0


@needs_gcc
def test_blends_longer_than_the_motion_are_said_and_nothing_is_written(tmp_path: Path) -> None:
    """2 tb <= tf, as the third paper's cubic-blended motion needs it."""
    written(export(PUMA, ["blended_trajectory"], "c", Options()).files, tmp_path)
    move = library(tmp_path / "puma560.c").puma560_blended_trajectory
    six = ctypes.c_double * 6
    q, qd, qdd = six(*[7] * 6), six(*[7] * 6), six(*[7] * 6)

    def status(blend_s: float) -> int:
        times = [ctypes.c_double(value) for value in (blend_s, 2.0, 0.5)]
        found: int = move(six(*[0] * 6), six(*[1] * 6), six(*[0.75] * 6), *times, q, qd, qdd)
        return found

    assert status(1.0 + 1e-9) == DOES_NOT_FIT
    assert [*q, *qd, *qdd] == [7] * 18
    assert status(1.0) == 0
    assert q[0] != 7


@needs_gcc
def test_where_no_branch_exists_that_is_said_and_the_nearest_is_written(tmp_path: Path) -> None:
    example = Example(tmp_path)
    assert example.call(-3.0, 1.0) == OUT_OF_REACH
    assert list(example.exists) == [-2.0, -1.0]
    assert example.call(-1.5, 1.0) == 0


@needs_gcc
@needs_gpp
def test_names_that_collide_and_scalars_and_conditions_compile_in_both_languages(tmp_path: Path) -> None:
    for compiler, suffix, files in (("gcc", "c", c_files), ("g++", "cpp", cpp_files)):
        folder = written(files(PUMA, [conditions("regular")], Options()), tmp_path / suffix)
        code, printed = run(built(compiler, (), sorted(folder.glob(f"*.{suffix}")), folder / "check"))
        assert code == 0, printed


@needs_gcc
def test_texts_from_a_robot_file_cannot_end_the_comment(tmp_path: Path) -> None:
    texts = {"title": 'x */ int y; /* "q\\', "source": "line\nfeed ??/", "manufacturer": "*//"}
    model = msgspec.structs.replace(PUMA, id="7 axis, Größe/2", **texts)
    folder = written(export(model, ["fk"], "c", Options()).files, tmp_path)
    assert (folder / "arm_7_axis_gr_e_2.h").exists()
    assert run(built("gcc", ("-std=c99",), sorted(folder.glob("*.c")), tmp_path / "check"))[0] == 0


@needs_gpp
def test_an_arduino_library_has_what_the_ide_asks_for_and_its_sketch_compiles(tmp_path: Path) -> None:
    options = Options(Real.FLOAT, Layout.ARDUINO)
    files = export(PUMA, ["fk", "jacobian"], "c", options).files
    folder = written(files, tmp_path)
    properties = dict(line.split("=", 1) for line in files["library.properties"].splitlines())
    assert properties.keys() >= {"name", "version", "author", "maintainer", "sentence", "paragraph", "url"}
    assert properties["name"] == "puma560" and properties["architectures"] == "*"
    assert "examples/puma560/puma560.ino" in files and "src/puma560.h" in files
    assert not any("stdio" in text for name, text in files.items() if name.startswith(("src/", "examples/")))
    core = "struct { void begin(long) {} void println(double, int) {} } Serial; void delay(long) {}\n"
    (folder / "sketch.cpp").write_text(f"{core}{files['examples/puma560/puma560.ino']}int main() {{ loop(); }}\n")
    subprocess.run(
        ["g++", "-Isrc", "-c", "sketch.cpp", "-Wall", "-Wextra", "-Werror"], cwd=folder, check=True, timeout=60
    )
    command = LANGUAGES["c"].check_command
    assert command is not None
    done = subprocess.run(command(options), shell=True, cwd=folder, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("robot", list_names("robots"))
def test_every_robot_is_exported_for_all_its_quantities(robot: str) -> None:
    exported = export(load_robot(robot), ["all"], "c", Options(vectors=2))
    prefix = identifier(robot)
    header, check = exported.files[f"{prefix}.h"], exported.files["check.c"]
    for function in exported.functions:
        assert f"int {prefix}_{function.name}(" in header
        assert f"call_{function.name}(" in check or f'"{function.name}");' in check
    everything = "\n".join(exported.files.values())
    assert not re.search(r"[^a-z_]-?(inf|nan)[,; )]", everything)
    assert "CC0-1.0" in header and "metres" in header


def test_the_same_export_gives_the_same_text() -> None:
    first, second = (export(PUMA, ["fk", "jacobian"], "c", Options()).files for _ in range(2))
    assert first == second
    other = export(PUMA, ["fk", "jacobian"], "c", Options(seed=2)).files
    assert [name for name in first if first[name] != other[name]] == ["check.c"]


@given(st.floats(-1e300, 1e300, allow_nan=False))
def test_a_double_literal_reads_back_as_the_same_number(value: float) -> None:
    assert float(literal(value, Real.DOUBLE)) == value


@given(st.floats(-1e45, 1e45, allow_nan=False))
def test_a_float_literal_is_the_nearest_float_and_never_loses_a_number_to_zero_or_infinity(value: float) -> None:
    text = literal(value, Real.FLOAT)
    assert text.endswith("f") and ("." in text or "e" in text)
    single = struct.unpack("f", struct.pack("f", float(text[:-1])))[0]
    assert math.isfinite(single) and (single == 0.0) == (value == 0.0)
    if 1.2e-38 < abs(value) < 3.4e38:
        assert single == struct.unpack("f", struct.pack("f", value))[0]


@given(st.text())
def test_any_text_becomes_a_name_that_c_and_python_accept(text: str) -> None:
    name = identifier(text)
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) and "__" not in name
    assert name.isidentifier() and name not in {"int", "class", "check", "main", "lambda"}


def test_check_vectors_are_within_limits_and_repeat_with_their_seed() -> None:
    [routine] = [conditions("status")]
    assert check_vectors(PUMA, routine, Options()) == check_vectors(PUMA, routine, Options())
    for a, b in pairwise(check_vectors(PUMA, routine, Options(vectors=5))):
        assert a.given != b.given
    assert evaluated(routine, ((4.0, -2.5), (1.0,))) is None
    assert evaluated(routine, ((4.0, 1.0), (2.0,))) == (8.0, 2.0, 2.0, 5.0, 6.0)
    assert evaluated(routine, ((4.0, 1.0), (2.0,)), with_conditions=True) == (8.0, 2.0, 2.0, 5.0, 6.0, 3.0)


@needs_gcc
def test_a_function_that_is_steep_everywhere_is_named_as_not_checked(tmp_path: Path) -> None:
    def body(x: float, functions):  # type: ignore[no-untyped-def]
        return {"y": ((), [functions.sin(1e12 * x)], "noise")}

    routine = draft("noise", "Noise.", [Argument("x", 0, "anything")], body)
    folder = written(c_files(PUMA, [routine], Options()), tmp_path)
    code, printed = run(built("gcc", ("-std=c99",), sorted(folder.glob("*.c")), tmp_path / "check"))
    assert code == 0
    assert re.search("noise +not checked", printed)
