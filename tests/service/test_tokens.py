"""Tokens: what is signed comes back, and nothing else does."""

from __future__ import annotations

import base64
import json
import stat
import sys
from pathlib import Path

import jwt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hil.errors import CommandError, ConfigError
from hil.service.grants import EVERY_ARM, Grant, WorkBox, decode, encode, peek
from hil.service.keys import PublicKey, SigningKey
from hil.service.revocation import HEADING, Revocations, revoke, revoke_all
from hil.service.rights import Role
from hil.service.tokens import Flaw, TokenChecker, TokenError, issue

NOW_S = 1_800_000_000
KEY = SigningKey(bytes(range(32)))
OTHER_KEY = SigningKey(bytes(range(1, 33)))

coordinates = st.floats(-2, 2, allow_nan=False)
names = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=20)
grants = st.builds(
    Grant,
    token_id=st.integers(0, 2**64 - 1).map(lambda number: f"{number:016x}"),
    user=names,
    arms=st.one_of(
        st.just((EVERY_ARM,)), st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, unique=True).map(tuple)
    ),
    role=st.sampled_from(Role),
    speed_share=st.floats(0.01, 1.0),
    box=st.one_of(
        st.none(),
        st.tuples(coordinates, coordinates, coordinates).map(
            lambda low: WorkBox(lower_m=low, upper_m=(low[0] + 0.1, low[1] + 0.2, low[2] + 0.3))
        ),
    ),
    issued_s=st.just(NOW_S - 60),
    not_before_s=st.integers(NOW_S - 60, NOW_S),
    expires_s=st.integers(NOW_S + 1, NOW_S + 3600),
    on_site=st.booleans(),
    renewed=st.booleans(),
)


def grant(**changes: object) -> Grant:
    plain: dict[str, object] = {
        "token_id": "00000000000000aa",
        "user": "Ana",
        "arms": ("lynx-1",),
        "role": Role.DRIVE,
        "speed_share": 0.5,
        "box": None,
        "issued_s": NOW_S - 60,
        "not_before_s": NOW_S - 60,
        "expires_s": NOW_S + 3600,
    }
    return Grant(**(plain | changes))  # type: ignore[arg-type]


@pytest.fixture
def revoked(tmp_path: Path) -> Path:
    path = tmp_path / "revoked.txt"
    path.write_text(HEADING)
    return path


@pytest.fixture
def checker(revoked: Path) -> TokenChecker:
    return TokenChecker([KEY.public], Revocations(revoked))


def flaw(checker: TokenChecker, token: str, now_s: float = NOW_S) -> Flaw:
    with pytest.raises(TokenError) as refused:
        checker.check(token, now_s)
    # A few letters may be in any words.
    assert len(token) < 20 or token not in str(refused.value)
    return refused.value.flaw


shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)


@shared
@given(grants)
def test_a_token_says_what_it_was_made_of(checker: TokenChecker, wanted: Grant) -> None:
    token = issue(wanted, KEY)
    assert checker.check(token, NOW_S) == wanted
    assert peek(token) == wanted


@shared
@given(st.data())
def test_no_changed_character_passes(checker: TokenChecker, data: st.DataObject) -> None:
    token = issue(grant(), KEY)
    at = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.characters(max_codepoint=0x2FF).filter(lambda character: character != token[at]))
    assert flaw(checker, token[:at] + other + token[at + 1 :]) in (Flaw.MALFORMED, Flaw.NOT_SIGNED_HERE)


@shared
@given(st.data())
def test_no_cut_or_lengthened_token_passes(checker: TokenChecker, data: st.DataObject) -> None:
    token = issue(grant(), KEY)
    cut = token[: data.draw(st.integers(0, len(token) - 1))]
    longer = token + data.draw(st.text(min_size=1, max_size=5))
    for bad in (cut, longer, data.draw(st.text(max_size=50))):
        assert flaw(checker, bad) in (Flaw.MALFORMED, Flaw.NOT_SIGNED_HERE)


def test_an_ordinary_token_is_as_it_was_so_that_servers_of_before_read_it() -> None:
    assert b"again" not in encode(grant())
    assert b'"again":true' in encode(grant(renewed=True))


def test_every_spelling_of_the_last_character_but_one_is_refused(checker: TokenChecker) -> None:
    token = issue(grant(), KEY)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_="
    passing = [last for last in alphabet if not _refused(checker, token[:-1] + last)]
    assert passing == [token[-1]]


def _refused(checker: TokenChecker, token: str) -> bool:
    try:
        checker.check(token, NOW_S)
    except TokenError:
        return True
    return False


def test_another_key_another_algorithm_and_none_at_all_are_refused(checker: TokenChecker) -> None:
    said = json.loads(encode(grant()))
    header = {"typ": "hil-token", "kid": KEY.public.id}
    unsigned = jwt.encode(said, None, algorithm="none", headers=header)
    by_public_key = ".".join(
        [
            _base64(json.dumps({"alg": "HS256", **header}).encode()),
            _base64(encode(grant())),
            _base64(b"0" * 32),
        ]
    )
    assert flaw(checker, issue(grant(), OTHER_KEY)) is Flaw.NOT_SIGNED_HERE
    assert flaw(checker, unsigned) in (Flaw.MALFORMED, Flaw.NOT_SIGNED_HERE)
    assert flaw(checker, by_public_key) is Flaw.NOT_SIGNED_HERE


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def test_something_else_that_the_key_signed_is_no_token(checker: TokenChecker) -> None:
    private = KEY._key
    assert flaw(checker, jwt.encode(json.loads(encode(grant())), private, algorithm="EdDSA")) is Flaw.NOT_SIGNED_HERE


@pytest.mark.parametrize(
    "change", [{"v": 2}, {"speed": 1.5}, {"speed": 0}, {"role": "owner"}, {"more": 1}, {"arms": []}, {"sub": ""}]
)
def test_a_signed_token_that_cannot_be_is_of_another_version(checker: TokenChecker, change: dict[str, object]) -> None:
    said = json.loads(encode(grant())) | change
    assert flaw(checker, KEY.seal(json.dumps(said).encode())) is Flaw.UNKNOWN_VERSION


def test_strangers_learn_nothing_from_a_refusal(checker: TokenChecker) -> None:
    texts = set()
    for token in ("", "a.b.c", "x" * 10_000, issue(grant(), OTHER_KEY), issue(grant(), KEY)[:-4]):
        with pytest.raises(TokenError) as refused:
            checker.check(token, NOW_S)
        texts.add(str(refused.value))
        assert refused.value.grant is None
    assert texts == {"this is no token of this lab"}


def test_a_token_counts_from_its_first_second_to_before_its_last(checker: TokenChecker) -> None:
    token = issue(grant(not_before_s=NOW_S, expires_s=NOW_S + 10), KEY)
    assert flaw(checker, token, NOW_S - 0.001) is Flaw.NOT_YET
    assert checker.check(token, NOW_S) and checker.check(token, NOW_S + 9.999)
    assert flaw(checker, token, NOW_S + 10) is Flaw.EXPIRED


def test_a_revoked_token_is_refused_with_the_next_message(checker: TokenChecker, revoked: Path) -> None:
    first, second = grant(), grant(token_id="00000000000000bb")
    checker.recheck(first, NOW_S)
    revoke(revoked, first.token_id, first.expires_s, "lost\nlaptop")
    assert flaw(checker, issue(first, KEY)) is Flaw.REVOKED
    checker.recheck(second, NOW_S)


def test_a_list_whose_last_line_somebody_left_open_loses_no_revocation(checker: TokenChecker, revoked: Path) -> None:
    with revoked.open("a") as file:
        file.write("# mended by hand")
    revoke(revoked, grant().token_id, grant().expires_s, "lost")
    assert flaw(checker, issue(grant(), KEY)) is Flaw.REVOKED


def test_all_tokens_made_until_now_can_be_revoked_at_once(checker: TokenChecker, revoked: Path) -> None:
    revoke_all(revoked, NOW_S - 60, "end of term")
    assert flaw(checker, issue(grant(), KEY)) is Flaw.REVOKED
    checker.recheck(grant(issued_s=NOW_S - 59), NOW_S)


@pytest.mark.parametrize("text", ["00000000000000aa\n", "00000000000000aa soon lost\n", "\xff"])
def test_a_list_that_cannot_be_read_lets_nobody_in(checker: TokenChecker, revoked: Path, text: str) -> None:
    checker.recheck(grant(), NOW_S)
    revoked.write_text(text, encoding="latin-1")
    for _ in range(2):
        assert flaw(checker, issue(grant(), KEY)) is Flaw.LIST_UNREADABLE
    revoked.unlink()
    assert flaw(checker, issue(grant(), KEY)) is Flaw.LIST_UNREADABLE
    revoked.write_text(HEADING)
    checker.recheck(grant(), NOW_S)


@pytest.mark.parametrize(
    "change",
    [
        {"user": ""},
        {"user": " Ana"},
        {"user": "A" * 65},
        {"user": "Ana\u202e"},
        {"user": "A\nna"},
        {"speed_share": 0.0},
        {"speed_share": float("nan")},
        {"arms": ()},
        {"arms": ("*", "a")},
        {"expires_s": NOW_S - 60},
        {"expires_s": NOW_S + 400 * 86_400},
    ],
)
def test_what_cannot_be_granted_is_refused_with_what_is_allowed(change: dict[str, object]) -> None:
    with pytest.raises(CommandError, match="allowed: "):
        grant(**change)


def test_an_empty_box_is_refused() -> None:
    with pytest.raises(CommandError, match="lower one less"):
        WorkBox(lower_m=(0, 0, 0), upper_m=(1, 0, 1))


@pytest.mark.parametrize("token", ["", "a.b", "a.b.c", "a.!!!.c", "..", "a." + "b" * 5000 + ".c"])
def test_peeking_into_something_else_sees_nothing(token: str) -> None:
    assert peek(token) is None
    assert decode(token.encode()) is None


def test_a_token_is_for_its_arms_alone() -> None:
    assert grant().covers("lynx-1") and not grant().covers("lynx-2")
    assert grant(arms=(EVERY_ARM,)).covers("lynx-2")


def test_keys_come_back_from_their_files_and_print_nothing(tmp_path: Path) -> None:
    path = tmp_path / "tokens.key"
    KEY.save(path)
    (tmp_path / "tokens.pub").write_bytes(KEY.public.pem)
    public = PublicKey.load(tmp_path / "tokens.pub")
    assert SigningKey.load(path).sign(b"x") == KEY.sign(b"x")
    assert public.verifies(b"x", KEY.sign(b"x")) and not public.verifies(b"y", KEY.sign(b"x"))
    assert repr(KEY) == f"SigningKey({KEY.public.id})" and repr(public) == f"PublicKey({KEY.public.id})"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_a_key_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "tokens.key"
    KEY.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    with pytest.raises(ConfigError, match=r"mode 0640.*chmod 600"):
        SigningKey.load(path)


def test_what_is_no_key_is_refused_and_no_key_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "tokens.key"
    KEY.save(path)
    with pytest.raises(ConfigError, match="nothing is overwritten"):
        KEY.save(path)
    with pytest.raises(ConfigError, match="public key as PEM"):
        PublicKey.load(path)
    path.write_bytes(KEY.public.pem)
    with pytest.raises(ConfigError, match="Ed25519 key as PEM"):
        SigningKey.load(path)
    with pytest.raises(ConfigError, match="can be read"):
        SigningKey.load(tmp_path / "none.key")
