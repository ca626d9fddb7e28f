"""A lab's folder: made whole, read back strictly, and never an open door."""

from __future__ import annotations

import ssl
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import ConfigError
from hil.model.files import parse_toml
from hil.service.certificates import DAYS, check_certificate
from hil.service.join import fingerprint
from hil.service.keys import PublicKey, SigningKey
from hil.service.settings import (
    FILE,
    AccessSettings,
    AuditSettings,
    is_loopback,
    kept_address,
    load_lab,
    on_site_networks,
    read_settings,
)
from hil.service.setup import UNIT, MadeLab, lab_fingerprint, make_lab, renew_certificate

NOW_S = 1_800_000_000.0
SEEDS = (bytes(range(32)), bytes(range(1, 33)))


def made(folder: Path, hosts: tuple[str, ...] = ("lab.example.org", "192.168.7.2"), name: str = "Lab 1") -> MadeLab:
    arms = {"left": "lynx6", "right": "lynx6"}
    return make_lab(folder, name=name, hosts=hosts, arms=arms, seeds=SEEDS, now_epoch_s=NOW_S)


def read(text: str) -> object:
    return read_settings(parse_toml(text.encode(), "lab.toml"), "lab.toml")


def test_a_lab_is_made_whole_and_read_back(tmp_path: Path) -> None:
    lab_made = made(tmp_path / "lab")
    lab = load_lab(tmp_path / "lab")
    assert all((lab.folder / file).is_file() for file in lab_made.files)
    assert lab_made.url == lab.settings.listen.public_url == "https://lab.example.org:8742"
    assert lab.settings.listen.host == "0.0.0.0" and list(lab.settings.arms) == ["left", "right"]
    assert not any(arm.hardware for arm in lab.settings.arms.values()) and not lab.settings.lease.unattended_park
    assert lab_fingerprint(lab, NOW_S) == lab_made.fingerprint
    public = PublicKey.load(lab.path(lab.settings.access.token_keys[0]))
    assert public.id == SigningKey.load(lab.token_key).public.id
    assert SigningKey.load(lab.path(lab.settings.audit.key)).public.id != public.id


def test_without_a_host_the_lab_is_for_this_computer_alone(tmp_path: Path) -> None:
    assert made(tmp_path / "lab", hosts=()).url == "https://127.0.0.1:8742"
    assert load_lab(tmp_path / "lab").settings.listen.host == "127.0.0.1"


@settings(max_examples=25)
@given(st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=80))
def test_any_name_of_a_lab_comes_back(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    folder = tmp_path_factory.mktemp("lab")
    made(folder, hosts=(), name=name)
    assert load_lab(folder).settings.name == name


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_secrets_are_for_their_owner_alone(tmp_path: Path) -> None:
    made(tmp_path / "lab")
    for secret in (tmp_path / "lab" / "keys").glob("*.key"):
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "lab" / "keys").stat().st_mode) == 0o700


def test_a_folder_with_something_in_it_stays_as_it_is(tmp_path: Path) -> None:
    made(tmp_path / "lab")
    before = (tmp_path / "lab" / FILE).read_bytes()
    with pytest.raises(ConfigError, match="a new or empty one"):
        made(tmp_path / "lab")
    assert (tmp_path / "lab" / FILE).read_bytes() == before


@pytest.mark.parametrize("host", ["", "a b", "http://lab", "lab..org", "läb.org", "-" * 300])
def test_what_is_no_host_is_refused_before_anything_is_written(tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigError, match="a name as lab"):
        made(tmp_path / "lab", hosts=(host,))
    assert not (tmp_path / "lab").exists()


def test_python_accepts_the_certificate_and_its_key(tmp_path: Path) -> None:
    made(tmp_path / "lab")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "lab/keys/tls.crt", tmp_path / "lab/keys/tls.key")


def test_a_certificate_that_has_ended_is_refused_and_can_be_renewed(tmp_path: Path) -> None:
    first = made(tmp_path / "lab").fingerprint
    lab = load_lab(tmp_path / "lab")
    later_s = NOW_S + (DAYS + 1) * 86_400
    with pytest.raises(ConfigError, match="--renew-certificate"):
        lab_fingerprint(lab, later_s)
    second = renew_certificate(tmp_path / "lab", ["lab.example.org"], later_s)
    assert first != second == lab_fingerprint(lab, later_s)
    with pytest.raises(ConfigError, match="a certificate as PEM"):
        check_certificate(b"nothing", "tls.crt", NOW_S)
    with pytest.raises(ValueError):
        fingerprint("nothing")


def test_the_unit_starts_this_folder_and_moves_nothing(tmp_path: Path) -> None:
    made(tmp_path / "my lab 100%")
    unit = (tmp_path / "my lab 100%" / UNIT).read_text()
    folder = str(tmp_path / "my lab 100%").replace("%", "%%")
    assert f'serve --lab "{folder}"' in unit and f"WorkingDirectory={folder}\n" in unit
    assert "NoNewPrivileges=true" in unit


ELSEWHERE = '[listen]\nhost = "0.0.0.0"\n'
KEYS = '[access]\ntoken_keys = ["keys/tokens.pub"]\n'
TLS = 'tls_certificate = "a"\ntls_key = "b"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ELSEWHERE, "no access.token_keys"),
        (ELSEWHERE + TLS, "no access.token_keys"),
        (ELSEWHERE + KEYS, "no TLS"),
        (ELSEWHERE + "behind_tls_proxy = true\n", "only with access.token_keys"),
        ('[listen]\nhost = "lab.example.org"\n', "no access.token_keys"),
        ('[listen]\nhost = ""\n', "listen.host"),
        ('[listen]\ntls_key = "b"\n', "certificate and key together"),
        ("[listen]\nbehind_tls_proxy = true\n", "only with access.token_keys"),
    ],
)
def test_an_open_door_is_refused_with_its_mend(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        '[listen]\nhost = "::1"\n',
        ELSEWHERE + TLS + KEYS,
        ELSEWHERE + "behind_tls_proxy = true\n" + KEYS,
        '[listen]\nhost = "127.0.0.1"\nbehind_tls_proxy = true\n' + KEYS,
    ],
)
def test_doors_with_a_lock_may_be_opened(text: str) -> None:
    read(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[lease]\nstop_after_s = 5\n", r"lab.toml: lease.stop_after_s: 5.*0.1 to 1 seconds"),
        ("[lease]\nstop_after = 0.2\n", "Did you mean `stop_after_s`"),
        ("[lease]\nunattended_park = 1\n", "lease.unattended_park"),
        ("[bookings]\nshortest_min = 30\nlongest_min = 20\n", "at most longest_min"),
        ('[access]\non_site_networks = ["192.168.7.1/24"]\n', "a network as"),
        ("[audit]\nretention_days = 0\n", "audit.retention_days"),
        ('[arms.left]\nrig = "lynx6"\ncamera = "ftp://x"\n', "arms.left.camera"),
        ('[arms."../x"]\nrig = "lynx6"\n', "arms"),
        ("[arms.left]\n", "arms.left.rig"),
        ("nam = 1\n", "Did you mean `name`"),
    ],
)
def test_a_wrong_setting_names_its_key_and_what_is_allowed(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read(text)


def test_a_folder_without_settings_says_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="hil serve init DIR"):
        load_lab(tmp_path)


def test_addresses_are_kept_as_the_settings_want_it() -> None:
    network, none, full = (AuditSettings(addresses=how) for how in ("network", "none", "full"))
    assert kept_address("192.168.7.23", network) == "192.168.7.0/24"
    assert kept_address("2001:db8:1:2::3", network) == "2001:db8:1::/48"
    assert kept_address("192.168.7.23", none) == "" and kept_address("192.168.7.23", full) == "192.168.7.23"
    assert kept_address("unknown", network) == ""


def test_networks_and_loopback_are_known() -> None:
    (network,) = on_site_networks(AccessSettings(on_site_networks=("192.168.7.0/24",)))
    assert str(network) == "192.168.7.0/24"
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "::1", "127.5.5.5")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "", "lab", "192.168.7.2")))
