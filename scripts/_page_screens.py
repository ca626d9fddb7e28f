"""Pictures of the page and of the wall at several sizes, from a lab of virtual arms: to be looked at."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from browser_stand import LabThread, lab_thread
from parted_arm import part
from solid_browser import drawn, solid_browser, why_no_scene

from hil.units import DEG

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOLDER = Path(__file__).parents[1] / "docs" / "screens"
SIZE, SMALL = {"width": 1440, "height": 900}, {"width": 480, "height": 320}
OTHER_SIZES = ((1366, 768), (1920, 1080), (3840, 2160))
LEFT_OUT = 75
SETTLED_MS, SMALL_MS = 2000, 500


def main() -> int:
    """Draw; 75 where there can be no solid arm."""
    parser = argparse.ArgumentParser(prog="scripts/page-screens", description=__doc__)
    parser.add_argument("--into", type=Path, default=FOLDER, help="the folder (docs/screens)")
    parser.add_argument("--small", action="store_true", help="small and soon: that they can be drawn, not to look at")
    wanted = parser.parse_args()
    into: Path = wanted.into
    size, settled_ms = (SMALL, SMALL_MS) if wanted.small else (SIZE, SETTLED_MS)
    if why := why_no_scene():
        print(why)
        return LEFT_OUT
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="hil-screens-")
    with (
        tempfile.TemporaryDirectory(prefix="hil-screens-") as folder,
        lab_thread(Path(folder), arms=4) as lab,
        solid_browser() as browser,
    ):
        for scheme in ("light", "dark"):
            context = browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
            page = context.new_page()
            page.add_init_script("localStorage.setItem('card', 'seen')")
            part(lab, 2, 3.0 * DEG)
            page.goto(lab.url)
            drawn(page).wait_for_timeout(settled_ms)
            page.screenshot(path=into / f"scene-error-{scheme}.png")
            if scheme == "light":
                part(lab, 2, 9.0 * DEG, arm="arm-2", alarm="elbow: the controller reports -75.0 deg, the shadow was at "
                     "-84.0 deg (band 8.0 deg): they have parted")  # fmt: skip
                part(lab, 1, 5.0 * DEG, arm="arm-3")
                page.goto("about:blank")
                page.goto(lab.url.replace("/#arm-1", "/wall#"))
                page.wait_for_timeout(settled_ms)
                page.locator(".cell .stop").nth(3).click()
                page.wait_for_timeout(settled_ms)
                page.screenshot(path=into / "wall.png")
                if not wanted.small:
                    _other_sizes(page, lab, "wall", into)
                    page.goto("about:blank")
                    page.goto(lab.url)
                    _other_sizes(page, lab, "page", into)
            context.close()
    print(f"pictures in {into}")
    return 0


def _other_sizes(page: Page, lab: LabThread, name: str, into: Path) -> None:
    """What the page shows, on screens of other sizes."""
    for width, height in OTHER_SIZES:
        page.set_viewport_size({"width": width, "height": height})
        part(lab, 2, 3.0 * DEG)
        page.wait_for_timeout(SETTLED_MS)
        page.screenshot(path=into / f"{name}-{width}.png")


if __name__ == "__main__":
    sys.exit(main())
