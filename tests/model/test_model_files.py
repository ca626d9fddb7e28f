"""Files are found at the path, in ./configs, in the user's folder, then among the bundled ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hil.errors import ConfigError
from hil.model.files import bundled_dir, find, list_names, merged, read_toml, state_dir, user_dir
from hil.model.reader import load_robot


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder and an empty home."""
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def put(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("title = 'x'\n")
    return folder / name


def test_the_nearest_place_wins(places: Path) -> None:
    assert find("rigs", "lynx6") == bundled_dir() / "rigs" / "lynx6.toml"
    mine = put(user_dir() / "rigs", "lynx6.toml")
    assert find("rigs", "lynx6") == mine
    here = put(Path("configs/rigs"), "lynx6.toml")
    assert find("rigs", "lynx6") == here
    exact = put(places / "desk", "lynx6.toml")
    assert find("rigs", exact) == exact


def test_a_bundled_file_is_found_by_its_path_in_the_project_from_anywhere(places: Path) -> None:
    assert find("rigs", "configs/rigs/lynx6.toml") == bundled_dir() / "rigs" / "lynx6.toml"
    assert find("rigs", "rigs/lynx6") == bundled_dir() / "rigs" / "lynx6.toml"
    assert find("rigs", "lynx6.toml") == bundled_dir() / "rigs" / "lynx6.toml"


def test_a_path_in_a_file_may_be_relative_to_that_file(places: Path) -> None:
    arm = put(places / "desk", "arm.toml")
    assert find("robots", "./arm.toml", file=str(places / "desk" / "rig.toml")).resolve() == arm.resolve()


def test_names_of_all_places_are_listed_once(places: Path) -> None:
    put(Path("configs/rigs"), "desk.toml")
    put(user_dir() / "rigs", "lynx6.toml")
    names = list_names("rigs")
    assert "desk" in names
    assert names == sorted(set(names))
    assert names.count("lynx6") == 1


def test_a_name_that_does_not_exist_lists_those_that_do_and_the_closest(places: Path) -> None:
    with pytest.raises(ConfigError) as error:
        find("rigs", "lynx")
    assert "rig 'lynx': name: 'lynx' given" in str(error.value)
    assert "lynx6, lynx6-4axis, lynx6-bench" in str(error.value)
    assert "Did you mean 'lynx6'?" in str(error.value)


@pytest.mark.parametrize("name", ["", ".", "..", "/", "configs/rigs", "rigs"])
def test_a_folder_is_no_file(places: Path, name: str) -> None:
    with pytest.raises(ConfigError):
        find("rigs", name)


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("a = 1\nb = = 2\n", "line 2, column 5", "b = = 2"),
        ("a = 1\n[t\n", "line 2, column 3", "[t"),
        ("a = 1\na = 2\n", "line 2, column 6", "a = 2"),
        ("a = [1,", "line 1", "a = [1,"),
        ("", "", ""),
    ],
)
def test_a_syntax_error_names_its_line(tmp_path: Path, text: str, key: str, value: str) -> None:
    path = tmp_path / "rig.toml"
    path.write_text(text)
    if not text:
        assert read_toml(path) == {}
        return
    with pytest.raises(ConfigError) as error:
        read_toml(path)
    assert (error.value.key, error.value.value, error.value.allowed) == (key, value, "TOML")


def test_a_byte_order_mark_is_accepted_and_other_encodings_are_not(tmp_path: Path) -> None:
    path = tmp_path / "rig.toml"
    path.write_bytes(b"\xef\xbb\xbfa = 1\n")
    assert read_toml(path) == {"a": 1}
    path.write_bytes("a = 'é'\n".encode("latin-1"))
    with pytest.raises(ConfigError, match="Save the file as UTF-8"):
        read_toml(path)


def test_what_one_reader_changes_the_next_one_does_not_see_and_what_a_person_changes_it_does(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("[a]\nb = [1, {c = 2}]\n", "utf-8")
    first = read_toml(file)
    first["a"]["b"][1]["c"] = 3
    first["a"]["b"].append(4)
    first["d"] = 5
    assert read_toml(file) == {"a": {"b": [1, {"c": 2}]}}
    file.write_text("[a]\nb = 1\n", "utf-8")
    assert read_toml(file) == {"a": {"b": 1}}


def test_what_cannot_be_read_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a file that can be read"):
        read_toml(tmp_path)


def test_tables_merge_key_by_key_and_lists_are_replaced() -> None:
    below = {"a": {"x": 1, "y": [1, 2]}, "b": 1}
    assert merged(below, {"a": {"y": [3]}, "c": 2}) == {"a": {"x": 1, "y": [3]}, "b": 1, "c": 2}
    assert below == {"a": {"x": 1, "y": [1, 2]}, "b": 1}


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="these folders are named by the platform")
def test_folders_follow_the_desktop_standard(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert user_dir() == places / "XDG_CONFIG_HOME" / "hil"
    assert state_dir() == places / "XDG_STATE_HOME" / "hil"
    monkeypatch.setenv("XDG_STATE_HOME", "relative/is/ignored")
    assert state_dir() == Path.home() / ".local/state/hil"


@pytest.mark.parametrize("name", ["arm.urdf", "arm.URDF", "arm.xacro"])
def test_a_urdf_in_the_place_of_a_robot_is_told_how_it_becomes_one(name: str, tmp_path: Path) -> None:
    path = put(tmp_path, name)
    with pytest.raises(ConfigError, match=f"hil import .*{name} -o arm.toml"):
        load_robot(path)
