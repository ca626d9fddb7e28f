"""The page's scene beside a bare three.js scene of as many triangles, in turns; frames at rest; first visit.

What both cost is the time of all of the browser's processes. OpenGL is done in software here, for both.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from _bench_common import Effort, verdict

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from browser_stand import LabThread, lab_thread
from parted_arm import retell
from solid_browser import drawn, frames, solid_browser, why_no_scene

from hil.clock import monotonic_s
from hil.service.arm_channel import ArmReport

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LEFT_OUT = 75
ROUNDS = (5, 2, 1)
SECONDS = (10.0, 5.0, 0.5)
SETTLE_MS = (1000.0, 1000.0, 100.0)
MOST_TIMES, MOST_BYTES = 2.0, 400_000
SIZE, SMALL = {"width": 1440, "height": 900}, {"width": 480, "height": 320}
SWING_RAD, SWING_S = 0.3, 4.0

BARE = """<!doctype html><canvas style="width:WIDTHpx;height:HEIGHTpx"></canvas><script type="module">
import * as three from "./page/parts/three.module.min.js";
const canvas = document.querySelector("canvas");
const renderer = new three.WebGLRenderer({ canvas, antialias: true, alpha: true });
renderer.setSize(WIDTH, HEIGHT, false);
const scene = new three.Scene(), camera = new three.PerspectiveCamera(35, WIDTH / HEIGHT, 0.02, 100);
const light = new three.DirectionalLight(0xffffff, 2.4), at = new Float32Array(9 * TRIANGLES);
for (let i = 0; i < at.length; i += 1) at[i] = Math.sin(i * 12.9898) * 0.3 + (i % 9) * 0.002;
const shape = new three.BufferGeometry();
shape.setAttribute("position", new three.BufferAttribute(at, 3));
shape.computeVertexNormals();
const mesh = new three.Mesh(shape, new three.MeshLambertMaterial());
scene.add(mesh, light, new three.HemisphereLight(0xffffff, 0x778899, 2.2));
camera.position.set(0, 0, 2);
window.frames_ = 0;
setInterval(() => requestAnimationFrame(() => {
  mesh.rotation.y += 0.01;
  renderer.render(scene, camera);
  window.frames_ += 1;
}), PERIOD);
</script>"""


def run(effort: Effort) -> bool:
    """Measure; True if the criteria are met."""
    if why := why_no_scene():
        print(f"page: {why}")
        raise SystemExit(LEFT_OUT)
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="hil-bench-")
    with (
        tempfile.TemporaryDirectory(prefix="hil-bench-") as folder,
        lab_thread(Path(folder)) as lab,
        solid_browser() as browser,
    ):
        return _measure(effort, lab, browser)


def _measure(effort: Effort, lab: LabThread, browser: Browser) -> bool:
    seconds, rounds = effort.of(*SECONDS), effort.of(*ROUNDS)
    settle_ms = effort.of(*SETTLE_MS)
    context = browser.new_context(viewport=effort.of(SIZE, SIZE, SMALL))  # type: ignore[arg-type]
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    sizes: list[float] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(lab.url)
    drawn(page).wait_for_timeout(settle_ms)
    first = sum(sizes)
    page.locator("#gotit").click()
    before = frames(page)
    page.wait_for_timeout(1000 * seconds)
    at_rest = frames(page) - before
    _swing(lab)
    page.wait_for_timeout(500)
    key = lab.served.lab.door.local_key
    triangles = int(page.evaluate(_TRIANGLES, "" if key is None else key.text))
    size = page.evaluate(_CANVAS)
    rows: list[tuple[float, float, float]] = []
    for _ in range(rounds):
        drawn(page).wait_for_timeout(settle_ms)
        count, ours = frames(page), _cpu_s(browser, page, seconds)
        rate = (frames(page) - count) / seconds
        page.goto("about:blank")
        rows.append((ours / seconds, _bare(context, lab, browser, triangles, rate, effort, size) / seconds, rate))
        page.goto(lab.url)
    times = sorted(ours / max(bare, 1e-6) for ours, bare, _ in rows)[len(rows) // 2]
    for ours, bare, rate in rows:
        print(f"in motion, {rate:4.1f} frames/s: page {100 * ours:5.1f} %, bare three.js {100 * bare:5.1f} % of a core")
    print(f"{triangles} triangles in the arm's bodies")
    context.close()
    return all(
        (
            verdict(at_rest == 0, f"frames at rest: {at_rest} in {seconds:g} s; allowed: none"),
            verdict(times <= MOST_TIMES, f"in motion: {times:.2f} times a bare scene; allowed: {MOST_TIMES:g}"),
            verdict(first < MOST_BYTES, f"first visit: {first / 1e3:.0f} kB over the wire; allowed: 400"),
        )
    )


_TRIANGLES = """async (key) => {
  const answer = await fetch("v1/arms/arm-1/skeleton", { headers: { Authorization: `Bearer ${key}` } });
  return (await answer.json()).solids.reduce((sum, body) => sum + atob(body.faces).length / 6, 0);
}"""


_CANVAS = """() => {
  const { clientWidth, clientHeight } = document.querySelector("#scene canvas");
  return { WIDTH: String(clientWidth), HEIGHT: String(clientHeight) };
}"""


def _bare(
    context: Any,
    lab: LabThread,
    browser: Browser,
    triangles: int,
    rate: float,
    effort: Effort,
    size: dict[str, str],
) -> float:
    """CPU time of the bare scene, as large as the page's; the page's own is not there meanwhile."""
    page = context.new_page()
    body = BARE
    values = size | {"TRIANGLES": str(triangles), "PERIOD": f"{1000 / max(rate, 1.0):.1f}"}
    for name, value in values.items():
        body = body.replace(name, value)
    page.route("**/bare", lambda route: route.fulfill(body=body, content_type="text/html"))
    page.goto(f"{lab.served.url}/bare")
    page.wait_for_timeout(effort.of(*SETTLE_MS))
    spent_s = _cpu_s(browser, page, effort.of(*SECONDS))
    page.close()
    return spent_s


def _swing(lab: LabThread) -> None:
    """From now on the arm is told as swinging."""

    def swung(report: ArmReport) -> ArmReport:
        by = SWING_RAD * math.sin(2.0 * math.pi * monotonic_s() / SWING_S)
        moved = tuple(
            None if each is None else each + (by if i < 3 else 0.0) for i, each in enumerate(report.commanded)
        )
        return msgspec.structs.replace(report, commanded=moved, simulated=moved, reported=moved)

    retell(lab, swung)


def _cpu_s(browser: Browser, page: Page, seconds: float) -> float:
    """Time of all of the browser's processes while the page is looked at for so long."""
    session = browser.new_browser_cdp_session()

    def spent_s() -> float:
        return float(sum(each["cpuTime"] for each in session.send("SystemInfo.getProcessInfo")["processInfo"]))

    before_s = spent_s()
    page.wait_for_timeout(1000 * seconds)
    found_s = spent_s() - before_s
    session.detach()
    return found_s
