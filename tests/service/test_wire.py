"""The protocol: its golden files, what is refused from strangers, and what an older reader lives with."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_samples import BODIES, CLIENT, GOLDEN, SERVER

from hil.errors import CommandError
from hil.service import wire
from hil.service.gate import ACTIONS
from hil.service.rights import Action, Role, may


def _kind(message: wire.FromClient | wire.FromServer) -> str:
    return str(type(message).__struct_config__.tag)


def _golden(name: str) -> bytes:
    return (GOLDEN / f"{name}.json").read_bytes().rstrip(b"\n")


def _plain(message: wire.ClientMessage) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(wire.encode(message))
    return plain


# -- golden files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("message", CLIENT, ids=_kind)
def test_what_clients_send_is_as_in_its_golden_file(message: wire.ClientMessage) -> None:
    golden = _golden(f"client-{_kind(message)}")
    assert wire.encode(message) == golden
    assert wire.decode_client(golden) == message
    assert wire.decode_client(golden.decode()) == message


@pytest.mark.parametrize("message", SERVER, ids=_kind)
def test_what_the_server_sends_is_as_in_its_golden_file(message: wire.ServerMessage) -> None:
    golden = _golden(f"server-{_kind(message)}")
    assert wire.encode(message) == golden
    assert wire.decode_server(golden) == message


@pytest.mark.parametrize("name", BODIES)
def test_bodies_are_as_in_their_golden_files(name: str) -> None:
    body, golden = BODIES[name], _golden(f"body-{name}")
    assert wire.encode(body) == golden  # type: ignore[arg-type]
    assert wire.decode_body(golden, type(body)) == body


def test_every_message_has_an_example_and_every_golden_file_a_message() -> None:
    assert {type(message) for message in CLIENT} == set(wire.CLIENT_MESSAGES)
    assert {type(message) for message in SERVER} == set(wire.SERVER_MESSAGES)
    names = [f"client-{_kind(m)}" for m in CLIENT] + [f"server-{_kind(m)}" for m in SERVER]
    assert {path.stem for path in GOLDEN.glob("*.json")} == {*names, *(f"body-{name}" for name in BODIES)}


def test_every_message_says_its_version() -> None:
    of_two = (wire.FollowTarget, wire.Presence, wire.Telemetry, wire.Tell)
    for message in (*CLIENT, *SERVER):
        assert json.loads(wire.encode(message))["v"] == (2 if isinstance(message, of_two) else wire.FIRST)


# -- what is refused from clients ------------------------------------------------------------------------------------

REFUSABLE = [message for message in CLIENT if not isinstance(message, wire.AnyStop)]


@pytest.mark.parametrize("message", REFUSABLE, ids=_kind)
def test_an_unknown_field_another_version_or_a_negative_number_is_refused(message: wire.ClientMessage) -> None:
    for change in ({"surprise": 1}, {"v": 3}, {"seq": -1}, {"seq": 2**60}, {"seq": None}):
        with pytest.raises(CommandError, match="message refused"):
            wire.decode_client(json.dumps(_plain(message) | change))


@pytest.mark.parametrize("message", REFUSABLE, ids=_kind)
def test_nothing_that_is_needed_may_be_left_out(message: wire.ClientMessage) -> None:
    needed = [field.name for field in msgspec.structs.fields(message) if field.required]
    for name in needed:
        plain = _plain(message)
        del plain[name]
        with pytest.raises(CommandError, match=f"missing required field `{name}`"):
            wire.decode_client(json.dumps(plain))


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity", "1e300", '"1"', "null", "true"])
@pytest.mark.parametrize("field", ["issued_s", "speed_share", "opening_m"])
def test_a_number_that_is_none_is_refused_at_the_door(number: str, field: str) -> None:
    gripper = next(message for message in CLIENT if isinstance(message, wire.Gripper))
    text = wire.encode(gripper).decode()
    given = f'"{field}":{_plain(gripper)[field]}'
    assert given in text
    with pytest.raises(CommandError):
        wire.decode_client(text.replace(given, f'"{field}":{number}'))


@pytest.mark.parametrize("amounts", [[], [0.0] * 17, [101.0], [-1e300]])
def test_a_jog_of_no_arm_is_refused(amounts: list[float]) -> None:
    step = next(message for message in CLIENT if isinstance(message, wire.JogStep))
    with pytest.raises(CommandError, match="1 to 16 amounts"):
        wire.decode_client(json.dumps(_plain(step) | {"move": {"type": "axes", "amounts": amounts}}))


@pytest.mark.parametrize("positions", [[], [0.0] * 17, [101.0], [-1e300]])
def test_a_target_of_no_arm_is_refused(positions: list[float]) -> None:
    target = next(message for message in CLIENT if isinstance(message, wire.FollowTarget))
    plain = _plain(target)
    with pytest.raises(CommandError, match="1 to 16 numbers"):
        wire.decode_client(json.dumps(plain | {"target": {"type": "axes", "positions": positions}}))
    far = {"type": "tool", "position_m": [0.0, 0.0, 0.1], "opening_m": 200.0}
    with pytest.raises(CommandError, match="1 to 16 numbers"):
        wire.decode_client(json.dumps(plain | {"target": far}))


@pytest.mark.parametrize("bad", ["\x1b[31m", "a\nb", "a\n", "\x00", "\x9b31m", "\u202eabc", "\u2028", "x" * 201])
def test_words_that_could_take_a_terminal_over_are_refused(bad: str) -> None:
    with pytest.raises(CommandError):
        wire.decode_client(json.dumps({"type": "freeze", "reason": bad}))


@pytest.mark.parametrize("arm", ["", "../lynx6", "a/b", "a b", ".hidden", "a\n", "x" * 65, "é"])
def test_a_name_is_no_path(arm: str) -> None:
    with pytest.raises(CommandError):
        wire.decode_client(json.dumps({"type": "hello", "speaks": [1], "arm": arm}))


def test_a_frame_that_is_too_long_is_refused_unread() -> None:
    with pytest.raises(CommandError, match=f"allowed: {wire.MAX_FRAME_BYTES}"):
        wire.decode_client(b"[" * (wire.MAX_FRAME_BYTES + 1))


def test_a_body_that_is_too_long_is_refused_unread() -> None:
    with pytest.raises(CommandError, match="allowed: 10"):
        wire.decode_body(b" " * 11, wire.BookingWish, 10)


def test_nesting_without_end_is_refused() -> None:
    for text in ('{"x":' + "[" * 16_000, "[" * 16_000, '{"type":"jog_step","move":' * 500):
        with pytest.raises(CommandError):
            wire.decode_client(text)


def test_a_refusal_quotes_no_value() -> None:
    for change in ({"token": "s3cret s3cret"}, {"token": ["s3cret"]}, {"v": "s3cret"}, {"type": "s3cret"}):
        hello = {"type": "hello", "speaks": [1], "arm": "lynx6"} | change
        with pytest.raises(CommandError) as refused:
            wire.decode_client(json.dumps(hello))
        assert "s3cret" not in str(refused.value)


def test_a_token_is_in_no_representation() -> None:
    hello = wire.Hello(speaks=(1,), arm="lynx6", token="s3cret")
    assert "s3cret" not in f"{hello} {hello!r} {[hello]}"


@settings(max_examples=300)
@given(st.one_of(st.binary(max_size=300), st.text(max_size=300)))
def test_any_bytes_are_a_message_or_a_refusal_in_printable_words(data: bytes | str) -> None:
    try:
        message = wire.decode_client(data)
    except CommandError as error:
        assert str(error).isprintable()
        assert len(str(error)) < 300
    else:
        assert isinstance(message, wire.FromClient)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=300)
@given(st.sampled_from(CLIENT), st.data())
def test_a_message_with_any_field_exchanged_is_read_or_refused(
    message: wire.ClientMessage, data: st.DataObject
) -> None:
    plain = _plain(message)
    plain[data.draw(st.sampled_from(sorted(plain)))] = data.draw(_json)
    try:
        read = wire.decode_client(json.dumps(plain))
    except CommandError as error:
        assert not isinstance(message, wire.AnyStop) or plain["type"] != _kind(message), error
    else:
        assert wire.decode_client(wire.encode(read)) == read


# -- stops -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [wire.Stop, wire.EmergencyStop, wire.SupplyCut])
@pytest.mark.parametrize(
    "extra", [{}, {"reason": 7}, {"reason": "x" * 5000}, {"v": 9}, {"seq": -1}, {"surprise": [1]}, {"reason": "\x1b"}]
)
def test_a_stop_is_a_stop_however_it_is_dressed(kind: type[wire.AnyStop], extra: dict[str, Any]) -> None:
    text = json.dumps({"type": kind.__struct_config__.tag} | extra)
    assert isinstance(wire.decode_client(text), kind)


@pytest.mark.parametrize("kind", [wire.Stop, wire.EmergencyStop, wire.SupplyCut])
@pytest.mark.parametrize(
    "rest",
    [
        b', "reason": Infinity}',
        b', "reason": [NaN]}',
        b', "reason": ' + b"[" * 5000,
        b', "reason": "too ne',
        b', "reason": "\xff"}',
        b"",
        b"} and once more {",
    ],
    ids=["infinite", "not a number", "deep", "cut in a text", "not UTF-8", "cut after its kind", "two"],
)
def test_a_stop_counts_in_text_that_is_not_json(kind: type[wire.AnyStop], rest: bytes) -> None:
    text = f'{{"type": "{kind.__struct_config__.tag}"'.encode() + rest
    assert isinstance(wire.decode_client(text), kind)


def test_a_stop_counts_that_comes_in_one_frame_with_another_message() -> None:
    for before in (b'{"type":"leave_queue","v":1,"seq":2}', b'{"type":"beat","v":1}\n'):
        assert isinstance(wire.decode_client(before + b'{"type":"stop"}'), wire.Stop)


@pytest.mark.parametrize(
    "text",
    [
        b'{"type": "release", "reason": {"type": "stop"}}',
        b'{"type": "release", "reason": "\\"type\\":\\"stop\\"", "seq": Infinity}',
        b'{"type": "release", "reason": "stop", "seq": Infinity}',
        b'{"kind": "stop"',
    ],
    ids=["JSON that has one inside", "quoted in a text", "the word alone", "another field"],
)
def test_what_only_speaks_of_a_stop_is_refused(text: bytes) -> None:
    with pytest.raises(CommandError, match="message refused"):
        wire.decode_client(text)


# -- what the server sends -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("message", SERVER, ids=_kind)
def test_an_older_client_passes_over_what_it_does_not_know(message: wire.ServerMessage) -> None:
    plain = json.loads(wire.encode(message))
    plain["new"] = {"deep": [1, 2]}
    if isinstance(message, wire.Telemetry):
        plain["lease"]["new"] = plain["timing"]["new"] = 1
    assert wire.decode_server(json.dumps(plain)) == message


def test_a_client_of_version_1_gets_the_telemetry_of_version_1() -> None:
    message = next(each for each in SERVER if isinstance(each, wire.Telemetry))
    now, then = (json.loads(wire.encode_telemetry(message, version)) for version in (2, 1))
    more = {"errors", "bands", "used", "alarm", "lamp", "starting_s", "rest"}
    assert set(now) - set(then) == more
    assert then == {name: value for name, value in now.items() if name not in more} | {"v": 1}
    assert wire.encode_telemetry(message, 2) == _golden("server-telemetry")


def test_telemetry_of_a_server_of_before_says_nothing_of_errors() -> None:
    message = next(each for each in SERVER if isinstance(each, wire.Telemetry))
    old = wire.decode_server(wire.encode_telemetry(message, 1))
    assert isinstance(old, wire.Telemetry)
    assert (old.v, old.errors, old.used, old.bands, old.alarm, old.lamp) == (1, (), (), (), "", None)


def test_what_is_no_message_of_a_server_is_refused() -> None:
    for text in ("", "{}", '{"type":"stop"}', "[1]"):
        with pytest.raises(CommandError):
            wire.decode_server(text)


# -- versions --------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 5), max_size=5))
def test_the_newest_common_version_is_spoken(theirs: list[int]) -> None:
    agreed = wire.agree(theirs)
    common = set(theirs) & set(wire.SPOKEN)
    assert agreed == (max(common) if common else None)


def test_a_hello_of_a_client_that_is_ahead_can_be_read() -> None:
    hello = wire.decode_client('{"type":"hello","v":1,"speaks":[3,4],"arm":"lynx6"}')
    assert isinstance(hello, wire.Hello)
    assert wire.agree(hello.speaks) is None


# -- the page about it -----------------------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text(encoding="utf-8")


def test_the_page_names_every_message_code_kind_and_phase() -> None:
    tags = [_kind(message) for message in (*CLIENT, *SERVER)]
    for word in (
        *tags,
        *(each.value for kind in (wire.Code, wire.NoticeKind, wire.LeasePhase, wire.Lamp) for each in kind),
    ):
        assert f"`{word}`" in PAGE, word


def test_the_page_names_every_field_of_a_command() -> None:
    for message in CLIENT:
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{_kind(message)}` |"))
        known = {"type", "v", "seq"}
        if isinstance(message, wire.Command):
            assert "command" in row
            known |= {"arm", "epoch", "issued_s", "picture_s"}
        for name in set(_plain(message)) - known:
            assert name in row, (row, name)


def test_the_examples_of_the_page_are_messages() -> None:
    examples = re.findall(r"```json\n(.*?)\n```", PAGE, re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        assert isinstance(wire.decode_client(example.replace('"..."', '"x.y.z"')), wire.Hello | wire.JogStep)


@pytest.mark.parametrize(
    "row", [line for line in PAGE.splitlines() if re.match(r"\| `\w+` \| .* \| .* \| .* \|$", line)]
)
def test_the_page_says_who_may_as_the_table_does(row: str) -> None:
    _, kind, _, who, _, _ = (part.strip().strip("`") for part in row.split("|"))
    message = next(message for message in wire.CLIENT_MESSAGES if message.__struct_config__.tag == kind)
    allowed = {role.value for role in Role if may(role, ACTIONS[message])}
    if who == "all":
        assert allowed == {role.value for role in Role}
    elif who == "the driver":
        assert allowed == {role.value for role in Role if may(role, Action.CLAIM)}
    else:
        assert allowed == set(who.removesuffix(", driving").split(", "))
