"""Commands of the CR1 that edit programs, read and write variables, and keep files."""

from __future__ import annotations

from sim.cr1 import programs
from sim.cr1.commands import Call, command, split, whole
from sim.cr1.language import SlotDesk
from sim.cr1.requests import VT, Cause, RefusedRequest
from sim.cr1.store import LAST_LINE, Program, add_line, check_name, program_from_text
from sim.cr1.tasks import ProgramTask, Slot, SlotState, Variables

BLOCK = 120
"""Bytes of a file in one answer to FREAD."""

FILE_HEAD = b"ROBPRG" + bytes(10)
"""What a program file begins with."""

_KINDS = ("M", "C", "P", "J")


# -- the edit buffer -------------------------------------------------------------------------------------


@command("LOAD=")
def open_for_edit(call: Call) -> str:
    """Open a program, or a new one, in the edit slot."""
    machine, name = call.machine, check_name(call.argument)
    if any(slot.name == name and slot.state is SlotState.RUNNING for slot in machine.slots.values()):
        raise RefusedRequest(4180)
    found = machine.store.programs.get(name)
    programs.open_edit(machine, name, found.copy() if found else Program())
    return ""


@command("SAVE", bare=True)
def save(call: Call) -> str:
    """Keep what was edited, and close."""
    machine = call.machine
    _require_open(call)
    machine.store.save(machine.edit.name, machine.edit.program, machine.now_s)
    programs.close_edit(machine)
    return ""


@command("NEW", bare=True)
def discard(call: Call) -> str:
    """Close, and throw away what was edited."""
    programs.close_edit(call.machine)
    return ""


@command("EDATA")
def edit_one(call: Call) -> str:
    """Add or replace a line or a position."""
    _require_open(call)
    _add(call, call.argument)
    return ""


@command("EMDAT")
def edit_many(call: Call) -> str:
    """Several of them; those before a wrong one are kept."""
    _require_open(call)
    for place, item in enumerate(call.argument.split(VT), start=1):
        try:
            _add(call, item)
        except RefusedRequest as error:
            raise RefusedRequest(error.number, f"{place};{error.extra or 1}", cause=Cause.EDIT) from None
    return ""


def _add(call: Call, text: str) -> None:
    edit = call.machine.edit
    add_line(edit.program, text, call.machine.language.check)
    edit.changed = True
    programs.forget_edited_task(call.machine)


def _require_open(call: Call) -> None:
    if not call.machine.edit.is_open:
        raise RefusedRequest(6030)
    if call.machine.slots[call.machine.edit_slot].state is SlotState.RUNNING:
        raise RefusedRequest(5660)


@command("LISTI")
def list_line(call: Call) -> str:
    """One line: TOP, END, +1, -1 or a number."""
    _require_listing(call)
    return call.machine.edit.list_line(call.argument.strip())


@command("LISTL")
def list_lines(call: Call) -> str:
    """As many lines as an answer takes."""
    _require_listing(call)
    return call.machine.edit.list_lines(call.argument.strip())


@command("LISTP")
def list_position(call: Call) -> str:
    """One position or joint set: TOP, END, +1, -1 or its name."""
    _require_listing(call)
    return call.machine.edit.list_variable(call.argument.strip())


@command("LISTCNT")
def count_lines(call: Call) -> str:
    """How many lines from one to another."""
    _require_listing(call)
    first, last = (whole(part or "0", 0, LAST_LINE) for part in split(call.argument, 2, 2))
    return f"{sum(first <= number <= (last or LAST_LINE) for number in call.machine.edit.program.lines):04d}"


def _require_listing(call: Call) -> None:
    if not call.machine.edit.is_open:
        raise RefusedRequest(5100)


@command("ECLR", bare=True)
def clear(call: Call) -> str:
    """All lines and variables go."""
    _require_open(call)
    call.machine.edit.program = Program()
    return _edited(call)


@command("DELETE")
def delete(call: Call) -> str:
    """Lines from one to another."""
    _require_open(call)
    first, last = (whole(part, 1, LAST_LINE) for part in split(call.argument, 2, 2))
    chosen = [number for number in call.machine.edit.program.lines if first <= number <= last]
    if not chosen:
        raise RefusedRequest(4230)
    for number in chosen:
        call.machine.edit.program.put(number, "")
    return _edited(call)


@command("RENUM")
def renumber(call: Call) -> str:
    """New number, first old one, step, last old one; 0 for 10, the top, 10, the end."""
    _require_open(call)
    new, first, step, last = (whole(part or "0", 0, LAST_LINE) for part in split(call.argument, 4, 4))
    call.machine.edit.program.renumber(new or 10, first, step or 10, last or LAST_LINE)
    return _edited(call)


def _edited(call: Call) -> str:
    call.machine.edit.changed = True
    programs.forget_edited_task(call.machine)
    return ""


@command("ESEARCH")
def search(call: Call) -> str:
    """The next line that holds a text, and the column."""
    _require_listing(call)
    edit = call.machine.edit
    numbers = list(edit.program.lines)
    for place in range(edit.line_at + 1, len(numbers)):
        line = f"{numbers[place]} {edit.program.lines[numbers[place]]}"
        column = line.upper().find(call.argument.upper())
        if call.argument and column >= 0:
            edit.line_at = place
            return f"{line};{column + 1}"
    return ""


@command("VTYPRD")
def kind_of_variable(call: Call) -> str:
    """Class of a variable."""
    kind = call.argument.strip()[:1].upper()
    if kind not in _KINDS:
        raise RefusedRequest(4340)
    return kind


# -- variables -------------------------------------------------------------------------------------------


@command("VAL=")
def write_edited(call: Call) -> str:
    """Write a variable of the program in the edit slot."""
    _require_open(call)
    name, value = _assignment(call.argument)
    if name[0] in "PJ":
        _add(call, f"{name}={value}")
    else:
        programs.write_variable(_variables(call), name, value)
    return ""


@command("VAL")
def read_variable(call: Call) -> str:
    """A variable by name, or the first, last, next or previous of a class."""
    if call.argument.partition(";")[0].strip().upper() == "M_MODE":
        if not call.machine.settings.shows_key:
            raise RefusedRequest(4340)
        return f"M_MODE=+{call.machine.panel.key.value}"
    return _listed(call, _variables(call), one=True)


@command("VALS")
def read_variables(call: Call) -> str:
    """Several from there on."""
    return _listed(call, _variables(call), one=False)


@command("GVAL")
def read_global(call: Call) -> str:
    """The same of the variables that all slots share."""
    return _listed(call, call.machine.language, one=True)


@command("GVALS")
def read_globals(call: Call) -> str:
    """Several of them."""
    return _listed(call, call.machine.language, one=False)


@command("HOT")
def write_hot(call: Call) -> str:
    """Write a variable of a program, also while it runs."""
    machine = call.machine
    program, found, assignment = call.argument.partition(";")
    if not found:
        raise RefusedRequest(3120)
    bare = check_name(program)
    stored = machine.store.find(bare)
    name, value = _assignment(assignment)
    machine.store.require_writable(stored)
    for slot in machine.slots.values():
        if slot.name == bare and (slot.task is not None or name[0] not in "PJ"):
            programs.write_variable(programs.task_of(machine, slot), name, value)
    if name[0] in "PJ":
        add_line(stored, f"{name}={value}", machine.language.check)
    return ""


def _assignment(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    bare = name.strip().upper()
    if not found or not bare or not bare[0].isalpha() or not value.strip():
        raise RefusedRequest(4220)
    return bare, value.strip()


def _variables(call: Call) -> ProgramTask | SlotDesk:
    """Of the program in the request's slot, or of its direct statements where it has none."""
    slot: Slot = call.machine.slot(call.slot)
    return programs.task_of(call.machine, slot) if slot.name else call.machine.language.desk(slot)


def _listed(call: Call, variables: Variables, *, one: bool) -> str:
    name, _, kind = call.argument.partition(";")
    name = name.strip().upper()
    kind = kind.strip().upper()
    if kind and kind not in _KINDS:
        raise RefusedRequest(3110)
    memory = call.session.listed
    if name in ("<", ">") or name[:1] in ("+", "-"):
        names = variables.names(kind or "M")
        last = names.index(memory) if memory in names else -1
        place = {"<": 0, ">": len(names) - 1}.get(name, -2)
        if place == -2:
            place = last + whole(name, -999, 999)
        if not 0 <= place < len(names):
            return ""
    else:
        names, place = [name], 0
    shown = names[place : place + (1 if one else 8)]
    values = [variables.read(each) for each in shown]
    if values[0] is None:
        raise RefusedRequest(4340)
    call.session.listed = shown[-1]
    pairs = [f"{each}={value}" for each, value in zip(shown, values, strict=True)]
    return pairs[0] if one else f"{VT.join(pairs)};{len(pairs)};{int(place + len(shown) < len(names))}"


# -- files -----------------------------------------------------------------------------------------------


@command("PDIR")
def list_programs(call: Call) -> str:
    """TOP, or a place in the list."""
    machine, where = call.machine, call.argument.strip()
    names = sorted(machine.store.programs)
    place = 0 if where == "TOP" else whole(where, 1, 999) - 1
    if place >= len(names):
        return ""
    name = names[place]
    program = machine.store.programs[name]
    free = f"{len(names)};{machine.store.capacity - machine.store.used};" if where == "TOP" else ""
    total_ms, run_ms = round(program.total_s * 1e3), round(program.run_s * 1e3)
    mean_ms = round(total_ms / program.runs) if program.runs else 0
    return (
        f"{name}.{machine.settings.extension};{program.size};{machine.calendar.text(program.changed_s)};{free}{program.attributes};;"
        f"{len(program.lines)};{len(program.variables)};{total_ms};{run_ms};{mean_ms};{program.runs}"
    )


@command("FDIR")
def list_files(call: Call) -> str:
    """TOP, a place in the list, or a pattern for the first."""
    machine, where = call.machine, call.argument.strip()
    names = sorted(machine.store.programs)
    top = where == "TOP" or where.startswith("<")
    place = 0 if top else whole(where, 1, 999) - 1
    if place >= len(names):
        return ""
    program = machine.store.programs[names[place]]
    free = f"{len(names)};{machine.store.capacity - machine.store.used};" if top else ""
    changed = machine.calendar.text(program.changed_s)
    return f"{names[place]}.{machine.settings.extension};{program.size};{changed};{free}{program.attributes}"


@command("FCHECK")
def exists(call: Call) -> str:
    """N if there is such a program, F if not."""
    return "N" if check_name(call.argument) in call.machine.store.programs else "F"


@command("FCOPY")
def copy(call: Call) -> str:
    """A second one under another name."""
    source, target = (check_name(part) for part in split(call.argument, 2, 2))
    call.machine.store.save(target, call.machine.store.find(source).copy(), call.machine.now_s)
    return ""


@command("FRENAME")
def rename(call: Call) -> str:
    """The same under another name."""
    source, target = (check_name(part) for part in split(call.argument, 2, 2))
    store = call.machine.store
    program = store.find(source)
    _require_free(call, source)
    if target in store.programs:
        raise RefusedRequest(3130)
    store.programs[target] = store.programs.pop(source)
    program.changed_s = call.machine.now_s
    return ""


@command("FDEL")
def delete_file(call: Call) -> str:
    """Delete a program that is neither protected nor in a slot."""
    name = check_name(call.argument)
    call.machine.store.require_writable(call.machine.store.find(name))
    _require_free(call, name)
    del call.machine.store.programs[name]
    return ""


def _require_free(call: Call, name: str) -> None:
    if call.machine.edit.name == name:
        raise RefusedRequest(4170)
    for slot in call.machine.slots.values():
        if slot.name == name:
            raise RefusedRequest(4190 if slot.state is SlotState.IDLE else 4180)


@command("FATTRIB")
def protect(call: Call) -> str:
    """+p and -p: protected or not; +q and -q are kept as letters."""
    name, change = split(call.argument, 2, 2)
    program = call.machine.store.find(name)
    if change not in ("+p", "-p", "+q", "-q"):
        raise RefusedRequest(3110)
    letter = change[1].upper()
    program.attributes = program.attributes.replace(letter, "") + (letter if change[0] == "+" else "")
    return ""


@command("FINIT", bare=True)
def delete_all(call: Call) -> str:
    """Every program goes."""
    for name in call.machine.store.programs:
        _require_free(call, name)
    call.machine.store.programs.clear()
    return ""


@command("EFREE", bare=True)
def memory(call: Call) -> str:
    """Total, used, percent."""
    store = call.machine.store
    return f"{store.capacity};{store.used};{100 * store.used // store.capacity}"


@command("FOPEN")
def open_file(call: Call) -> str:
    """Open a program as a file, to read or to write."""
    name, way = split(call.argument, 2, 2)
    bare = check_name(name)
    if way not in ("r", "w"):
        raise RefusedRequest(3110)
    if call.session.file is not None:
        raise RefusedRequest(3130)
    data = bytearray()
    if way == "r":
        data += FILE_HEAD + call.machine.store.find(bare).text.encode("latin-1", "replace")
    call.session.file = (bare, way, data)
    return ""


@command("FREAD", bare=True)
def read_file(call: Call) -> str:
    """The next block in hex, and whether more follows."""
    data = _file(call, "r")
    block = bytes(data[:BLOCK])
    del data[:BLOCK]
    return f"{block.hex().upper()};{int(bool(data))}"


@command("FWRITE")
def write_file(call: Call) -> str:
    """A block: count of bytes, and hex."""
    data = _file(call, "w")
    count, text = split(call.argument, 2, 2)
    try:
        block = bytes.fromhex(text)
    except ValueError:
        raise RefusedRequest(3110) from None
    if len(block) != whole(count, 0, BLOCK):
        raise RefusedRequest(3110)
    if len(data) + len(block) > call.machine.store.capacity:
        raise RefusedRequest(4110)
    data += block
    return ""


@command("FCLOSE", bare=True)
def close_file(call: Call) -> str:
    """Close; what was written becomes the program."""
    machine = call.machine
    if call.session.file is None:
        raise RefusedRequest(3140)
    name, way, data = call.session.file
    call.session.file = None
    if way == "w":
        _require_free(call, name)
        text = bytes(data).removeprefix(FILE_HEAD).decode("latin-1")
        machine.store.save(name, program_from_text(text), machine.now_s)
    return ""


def _file(call: Call, way: str) -> bytearray:
    if call.session.file is None or call.session.file[1] != way:
        raise RefusedRequest(3140)
    return call.session.file[2]
