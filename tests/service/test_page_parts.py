"""Parts of the page that others wrote: only the archive that is meant is laid beside the page, and none is no fault."""

from __future__ import annotations

import base64
import hashlib
import io
import sys
import tarfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import _page_parts as parts


def archive(**files: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as opened:
        for name, text in files.items():
            data = text.encode()
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(data)
            opened.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def part_of(data: bytes) -> parts.PagePart:
    digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
    return parts.PagePart("thing", "1.0", digest, {"package/one": "one.js", "package/two": "two.txt"})


def test_the_files_are_laid_once_and_are_there(tmp_path: Path) -> None:
    data = archive(one="code", two="licence", three="no")
    wanted = part_of(data)
    assert not parts.there(wanted, tmp_path)
    parts.lay(wanted, data, tmp_path)
    assert parts.there(wanted, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"one.js", "two.txt", "thing.version"}
    assert not parts.there(wanted._replace(version="1.1"), tmp_path)


def test_another_archive_than_the_one_that_is_meant_lays_nothing(tmp_path: Path) -> None:
    wanted = part_of(archive(one="code", two="licence"))
    with pytest.raises(parts.PartError, match="another checksum"):
        parts.lay(wanted, archive(one="evil", two="licence"), tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_archive_without_a_file_lays_nothing(tmp_path: Path) -> None:
    data = archive(one="code")
    with pytest.raises(parts.PartError, match="has no package/two"):
        parts.lay(part_of(data), data, tmp_path)
    assert not list(tmp_path.iterdir())


def test_without_npm_the_page_goes_without_and_only_a_must_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(parts.shutil, "which", lambda name: None)
    for more, code in (([], 0), (["--must"], 1)):
        monkeypatch.setattr(sys, "argv", ["page-parts", "--into", str(tmp_path), *more])
        assert parts.main() == code
        assert "no npm here" in capsys.readouterr().err


def test_each_part_has_a_version_a_checksum_and_its_licence() -> None:
    for part in parts.PARTS:
        assert len(base64.b64decode(part.sha512)) == 64
        assert any("LICENSE" in name for name in part.files)
