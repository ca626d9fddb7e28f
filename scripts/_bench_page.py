"""The page in motion beside the same arm's triangles in a bare three.js scene, in turns; frames at rest; first visit.

What both cost is the time of all of the browser's processes, as on a computer without a graphics card: for both, the
processor puts the page together and draws what is in the scene, with edges that it does not smooth.
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
from solid_browser import at_rest, drawn, frames, solid_browser, why_no_scene

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
import { frames } from "./page/arm.js";
import { bodies, placed, world } from "./page/solids.js";
const canvas = document.querySelector("canvas");
const renderer = new three.WebGLRenderer({ canvas, antialias: false, alpha: true });
renderer.setSize(WIDTH, HEIGHT, false);
const scene = new three.Scene(), camera = new three.PerspectiveCamera(35, WIDTH / HEIGHT, 0.02, 100);
const light = new three.DirectionalLight(0xffffff, 2.4), at = [];
const skeleton = SKELETON, found = frames(skeleton, POSE);
for (const body of bodies(skeleton)) {
  const place = placed(skeleton, body, found, 0);
  for (const corner of body.faces) at.push(...world(place, body.vertices, corner));
}
const shape = new three.BufferGeometry();
shape.setAttribute("position", new three.BufferAttribute(new Float32Array(at), 3));
shape.computeVertexNormals();
const mesh = new three.Mesh(shape, new three.MeshLambertMaterial({ color: 0x667080 }));
scene.add(mesh, light, new three.HemisphereLight(0xffffff, 0x778899, 2.2));
camera.up.set(0, 0, 1);
camera.position.set(...[1.34, -2.31, 1.35].map((part) => part * skeleton.reach_m));
camera.lookAt(skeleton.base[9], skeleton.base[10], skeleton.base[11] + 0.22 * skeleton.reach_m);
light.position.copy(camera.position);
setInterval(() => requestAnimationFrame(() => {
  mesh.rotation.z = SWING_RAD * Math.sin(2 * Math.PI * performance.now() / 1000 / SWING_S);
  renderer.render(scene, camera);
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
    at_rest(page).wait_for_timeout(settle_ms)
    first = sum(sizes)
    page.locator("#gotit").click()
    before = frames(page)
    page.wait_for_timeout(1000 * seconds)
    drawn_at_rest = frames(page) - before
    _swing(lab)
    page.wait_for_timeout(500)
    key = lab.served.lab.door.local_key
    values = page.evaluate(_CANVAS) | {
        "SKELETON": page.evaluate(_SKELETON, "" if key is None else key.text),
        "POSE": str([value or 0.0 for value in lab.moved[-1][1]]),
        "SWING_RAD": str(SWING_RAD),
        "SWING_S": str(SWING_S),
    }
    rows: list[tuple[float, float, float]] = []
    for _ in range(rounds):
        drawn(page).wait_for_timeout(settle_ms)
        count, ours = frames(page), _cpu_s(browser, page, seconds)
        rate = (frames(page) - count) / seconds
        page.goto("about:blank")
        rows.append((ours / seconds, _bare(context, lab, browser, values, rate, effort) / seconds, rate))
        page.goto(lab.url)
    times = sorted(ours / max(bare, 1e-6) for ours, bare, _ in rows)[len(rows) // 2]
    for ours, bare, rate in rows:
        print(f"in motion, {rate:4.1f} frames/s: page {100 * ours:5.1f} %, bare three.js {100 * bare:5.1f} % of a core")
    context.close()
    return all(
        (
            verdict(drawn_at_rest == 0, f"frames at rest: {drawn_at_rest} in {seconds:g} s; allowed: none"),
            verdict(times <= MOST_TIMES, f"in motion: {times:.2f} times a bare scene; allowed: {MOST_TIMES:g}"),
            verdict(first < MOST_BYTES, f"first visit: {first / 1e3:.0f} kB over the wire; allowed: 400"),
        )
    )


_SKELETON = """async (key) => {
  const answer = await fetch("v1/arms/arm-1/skeleton", { headers: { Authorization: `Bearer ${key}` } });
  return await answer.text();
}"""


_CANVAS = """() => {
  const { clientWidth, clientHeight } = document.querySelector("#scene canvas");
  return { WIDTH: String(clientWidth), HEIGHT: String(clientHeight) };
}"""


def _bare(
    context: Any,
    lab: LabThread,
    browser: Browser,
    values: dict[str, str],
    rate: float,
    effort: Effort,
) -> float:
    """CPU time of the arm's bodies in a bare scene, as large as the page's; the page's own is not there meanwhile."""
    page = context.new_page()
    body = BARE
    for name, value in (values | {"PERIOD": f"{1000 / max(rate, 1.0):.1f}"}).items():
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
