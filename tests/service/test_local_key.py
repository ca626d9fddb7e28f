"""The key of a server's start: this user's commands find it, and nobody else can read it."""

from __future__ import annotations

import os
import stat
import sys

import pytest

from hil.errors import ConfigError
from hil.model.files import state_dir
from hil.service.lab_setup import new_local_key
from hil.service.local_key import LocalKey, local_key

PORT = 18_742


def test_the_newest_start_s_key_is_found_until_it_is_taken_away() -> None:
    assert local_key(PORT) == ""
    LocalKey("first").keep(PORT)
    LocalKey("second").keep(PORT)
    assert local_key(PORT) == "second"
    assert local_key(PORT + 1) == ""
    LocalKey("first").drop(PORT)
    assert local_key(PORT) == "second", "one that ends late leaves the key of a later start alone"
    LocalKey("second").drop(PORT)
    assert local_key(PORT) == ""
    LocalKey("second").drop(PORT)


@pytest.mark.skipif(sys.platform == "win32", reason="the folder's rights hold there")
def test_nobody_else_can_read_it_and_one_that_others_could_read_is_not_used() -> None:
    LocalKey("secret").keep(PORT)
    path = state_dir() / "keys" / f"port-{PORT}.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    with pytest.raises(ConfigError, match="mode 0640"):
        local_key(PORT)
    LocalKey("secret").drop(PORT)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_state_folder_that_cannot_be_written_to_is_said() -> None:
    folder = state_dir() / "keys"
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o500)
    try:
        with pytest.raises(ConfigError, match="a place that can be written to"):
            LocalKey("secret").keep(PORT)
    finally:
        folder.chmod(0o700)


def test_every_start_has_another_of_240_bits_fit_for_an_address_and_never_shown() -> None:
    keys = [new_local_key() for _ in range(50)]
    assert len({key.text for key in keys}) == 50
    assert all(len(key.text) == 40 and key.text.replace("-", "").replace("_", "").isalnum() for key in keys)
    assert keys[0].text not in repr(keys[0])


@pytest.mark.parametrize("given", ["", "secre", "secret ", "Secret", "sécret"])
def test_what_is_not_the_key_is_not(given: str) -> None:
    assert LocalKey("secret").is_same("secret")
    assert not LocalKey("secret").is_same(given)
