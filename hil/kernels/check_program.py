"""The check program: runs exported C or C++ at the check vectors and prints the worst difference per function."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

from hil.kernels.c_text import Dialect, Parameter, braced, comment, indented, numbers, parameters
from hil.kernels.check_vectors import TOLERANCE, Vector, check_vectors
from hil.kernels.export_options import Options, Real
from hil.kernels.languages import arm_prefix, heading, identifier
from hil.kernels.routine import Routine
from hil.model.robot import RobotModel


def c_check(model: RobotModel, routines: Sequence[Routine], options: Options) -> str:
    """The program in C99."""
    dialect = Dialect(arm_prefix(model), options.real)
    includes = [f'#include "{dialect.prefix}.h"', "", "#include <math.h>", "#include <stdio.h>", ""]
    return _program(model, routines, options, dialect, includes)


def cpp_check(model: RobotModel, routines: Sequence[Routine], options: Options, dialect: Dialect) -> str:
    """The program in C++17."""
    includes = [f'#include "{dialect.prefix}.hpp"', "", "#include <cmath>", "#include <cstdio>", ""]
    return _program(model, routines, options, dialect, [*includes, *_copies(dialect.real)])


def _program(
    model: RobotModel, routines: Sequence[Routine], options: Options, dialect: Dialect, includes: Sequence[str]
) -> str:
    lines = [*comment(heading(model)), *includes]
    rows, unchecked = [], []
    most_given = most_found = 1
    for routine in routines:
        name = identifier(routine.name)
        vectors = check_vectors(model, routine, options)
        if not vectors:
            unchecked.append(f'printf("%-32s not checked: no well conditioned configuration found\\n", "{name}");')
            continue
        inputs, outputs = len(vectors[0].given), len(vectors[0].expected)
        most_given, most_found = max(most_given, inputs), max(most_found, outputs)
        lines += [*_call(routine, name, dialect), "", *_tables(name, vectors, options.real)]
        sizes = f"{len(vectors)}, {inputs}, {outputs}"
        rows.append(f'{{"{name}", call_{name}, {name}_given, {name}_expected, {sizes}}},')
    driver = _DRIVER.substitute(
        real=options.real.value,
        std=dialect.namespace,
        # C has no empty array: the last row is never run.
        rows="\n".join(indented([*rows, '{"", 0, 0, 0, 0, 0, 0},'])),
        count=len(rows),
        most_given=most_given,
        most_found=most_found,
        tolerance=f"{TOLERANCE[options.real]:g}",
        title=f"{dialect.prefix}, {options.real.value}, seed {options.seed}",
        unchecked="".join(f"\n    {line.replace('printf', f'{dialect.namespace}printf')}" for line in unchecked),
    )
    return "\n".join(lines) + driver


def _tables(name: str, vectors: Sequence[Vector], real: Real) -> list[str]:
    # A function without arguments has an empty row, which C has no array for.
    given = [line for vector in vectors for line in numbers(vector.given or (0.0,), real)]
    expected = [line for vector in vectors for line in numbers(vector.expected, Real.DOUBLE)]
    return [
        f"static const {real.value} {name}_given[] = {{",
        *indented(given),
        "};",
        f"static const double {name}_expected[] = {{",
        *indented(expected),
        "};",
        "",
    ]


def _call(routine: Routine, name: str, dialect: Dialect) -> list[str]:
    """A function that takes all arguments, and leaves all results, in one row each."""
    real = dialect.real.value
    body = _cpp_body(routine, dialect) if dialect.namespace else [f"return {_c_call(routine, dialect)};"]
    return [f"static int call_{name}(const {real} *given, {real} *found)", *braced(body)]


def _c_call(routine: Routine, dialect: Dialect) -> str:
    texts = []
    for parameter, place in _places(routine):
        row = "found" if parameter.output else "given"
        texts.append(f"{row} + {place}" if parameter.output or parameter.length else f"{row}[{place}]")
    return f"{dialect.function(routine)}({', '.join(texts)})"


def _cpp_body(routine: Routine, dialect: Dialect) -> list[str]:
    before, texts, after = [], [], []
    for parameter, place in _places(routine):
        row = "found" if parameter.output else "given"
        if not parameter.length:
            texts.append(f"{row}[{place}]")
        elif parameter.output:
            before.append(f"auto result_{place} = load<{parameter.length}>(found + {place});")
            texts.append(f"result_{place}")
            after.append(f"store(result_{place}, found + {place});")
        else:
            texts.append(f"load<{parameter.length}>(given + {place})")
    call = f"{dialect.function(routine)}({', '.join(texts)})"
    return [*before, f"const auto status = {call};", *after, "return static_cast<int>(status);"]


def _places(routine: Routine) -> list[tuple[Parameter, int]]:
    """Each parameter with its place in the row of arguments, or of results."""
    places, ends = [], {False: 0, True: 0}
    for parameter in parameters(routine):
        places.append((parameter, ends[parameter.output]))
        ends[parameter.output] += parameter.size
    return places


def _copies(real: Real) -> list[str]:
    return _COPIES.substitute(real=real.value).splitlines()


_COPIES = Template("""\
template <std::size_t count>
static std::array<$real, count> load(const $real *from)
{
    std::array<$real, count> values{};
    for (std::size_t i = 0; i < count; i++) {
        values[i] = from[i];
    }
    return values;
}

template <std::size_t count>
static void store(const std::array<$real, count> &values, $real *to)
{
    for (std::size_t i = 0; i < count; i++) {
        to[i] = values[i];
    }
}

""")

_DRIVER = Template("""
enum { OK = 0, NOT_FINITE = 1, CHECKS = $count };

struct check {
    const char *name;
    int (*call)(const $real *given, $real *found);
    const $real *given;
    const double *expected;
    int vectors;
    int inputs;
    int outputs;
};

static const struct check checks[] = {
$rows
};

/* Relative to the larger of 1 and the largest expected number; infinite where the status is wrong. */
static double worst_difference(const struct check *check)
{
    $real found[$most_found] = {0};
    double worst = 0.0;
    for (int vector = 0; vector < check->vectors; vector++) {
        const double *expected = check->expected + vector * check->outputs;
        double scale = 1.0;
        double difference = 0.0;
        if (check->call(check->given + vector * check->inputs, found) != OK) {
            return HUGE_VAL;
        }
        for (int i = 0; i < check->outputs; i++) {
            if (!${std}isfinite(found[i])) {
                return HUGE_VAL;
            }
            scale = ${std}fmax(scale, ${std}fabs(expected[i]));
            difference = ${std}fmax(difference, ${std}fabs((double)found[i] - expected[i]));
        }
        worst = ${std}fmax(worst, difference / scale);
    }
    return worst;
}

/* Every argument in turn is no number, or infinite: that is refused, and nothing is written. */
static int refuses_not_finite(const struct check *check)
{
    const $real bad[] = {NAN, INFINITY, -INFINITY};
    $real given[$most_given];
    $real found[$most_found];
    for (int trial = 0; trial < 3 * check->inputs; trial++) {
        for (int i = 0; i < check->inputs; i++) {
            given[i] = check->given[i];
        }
        for (int i = 0; i < check->outputs; i++) {
            found[i] = 7;
        }
        given[trial / 3] = bad[trial % 3];
        if (check->call(given, found) != NOT_FINITE) {
            return 0;
        }
        for (int i = 0; i < check->outputs; i++) {
            if (found[i] != 7) {
                return 0;
            }
        }
    }
    return 1;
}

int main(void)
{
    int failed = 0;
    ${std}printf("$title\\n");
    for (int i = 0; i < CHECKS; i++) {
        const double worst = worst_difference(&checks[i]);
        const int refuses = refuses_not_finite(&checks[i]);
        ${std}printf("%-32s worst difference %.1e%s\\n", checks[i].name, worst,
                    refuses ? "" : "; TAKES WHAT IS NOT FINITE");
        failed += !(worst <= $tolerance && refuses);
    }$unchecked
    ${std}printf("%d of %d functions within $tolerance\\n", CHECKS - failed, CHECKS);
    return failed ? 1 : 0;
}
""")
