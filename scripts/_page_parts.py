"""The parts of the browser's page that others wrote, fetched by npm at one version and held against its checksum.

Where they are not there, the page draws the arm as lines.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[1] / "hil" / "service" / "page" / "parts"
PATIENCE_S = 120.0


class PagePart(NamedTuple):
    """A package of which some files go beside the page.

    Attributes:
        sha512: of the package's archive, base64, as npm itself has it.
        files: in the package, and their names beside the page.
    """

    package: str
    version: str
    sha512: str
    files: dict[str, str]


PARTS = (
    PagePart(
        package="three",
        version="0.185.1",
        sha512="5aojFCXKwnjBRZvUnt3WFfEcvUJgkN5LlijRFN95hMy8WVkG4I0QNcJE+OuWvuJ0bOdStrbfXn0pkd6/QyiAlg==",
        files={
            "package/build/three.module.min.js": "three.module.min.js",
            "package/build/three.core.min.js": "three.core.min.js",
            "package/LICENSE": "three.LICENSE.txt",
        },
    ),
)


class PartError(Exception):
    """A part that cannot be had, in words."""


def main() -> int:
    """Fetch what is missing; 1 if something is wrong with a part, or with `--must` if it is not there."""
    parser = argparse.ArgumentParser(prog="scripts/page-parts", description=__doc__)
    parser.add_argument("--must", action="store_true", help="end with 1 where a part is missing (for a wheel)")
    parser.add_argument("--quiet", action="store_true", help="say nothing of a part that cannot be had")
    parser.add_argument("--into", type=Path, default=FOLDER, help="the folder (beside the page)")
    wanted = parser.parse_args()
    missing = 0
    for part in PARTS:
        if there(part, wanted.into):
            continue
        try:
            lay(part, fetched(part), wanted.into)
        except PartError as error:
            missing += 1
            if not wanted.quiet:
                print(f"page parts: {error}; the page draws the arm as lines", file=sys.stderr)
        else:
            print(f"page parts: {part.package} {part.version}")
    return 1 if missing and wanted.must else 0


def there(part: PagePart, folder: Path) -> bool:
    """Whether all files of a part lie there, of this version."""
    stamp = folder / f"{part.package}.version"
    return (
        stamp.is_file()
        and stamp.read_text(encoding="utf-8") == part.version
        and all((folder / name).is_file() for name in part.files.values())
    )


def fetched(part: PagePart) -> bytes:
    """The package's archive, by npm as this computer has it set up.

    Raises:
        PartError: there is no npm, or it gives none.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise PartError(f"no npm here to fetch {part.package} {part.version} with")
    with tempfile.TemporaryDirectory(prefix="page-parts-") as folder:
        command = [npm, "pack", f"{part.package}@{part.version}", "--silent", "--pack-destination", folder]
        try:
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=PATIENCE_S)
        except (OSError, subprocess.SubprocessError):
            raise PartError(f"npm does not give {part.package} {part.version}: is there a network?") from None
        found = list(Path(folder).glob("*.tgz"))
        if len(found) != 1:
            raise PartError(f"npm gave no archive of {part.package} {part.version}")
        return found[0].read_bytes()


def lay(part: PagePart, archive: bytes, folder: Path) -> None:
    """Lay a part's files into the folder, if the archive is the one that is meant.

    Raises:
        PartError: it is another one, or a file is not in it; nothing was written.
    """
    digest = base64.b64encode(hashlib.sha512(archive).digest()).decode()
    if digest != part.sha512:
        raise PartError(f"{part.package} {part.version} has another checksum than it should: not used")
    with tempfile.TemporaryDirectory(prefix="page-parts-") as scratch:
        place = Path(scratch) / "archive.tgz"
        place.write_bytes(archive)
        with tarfile.open(place) as opened:
            contents = {}
            for inside, name in part.files.items():
                try:
                    member = opened.extractfile(inside)
                except KeyError:
                    member = None
                if member is None:
                    raise PartError(f"{part.package} {part.version} has no {inside}")
                contents[name] = member.read()
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    (folder / f"{part.package}.version").write_text(part.version, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
