// The arm by three.js: solid where it is simulated, a ghost where it is commanded, an outline where it is reported,
// dashes where it would stop, a ghost with ten times the error, and the way of the tool. Draws when something has
// changed, and never else.
import {
  BufferAttribute, BufferGeometry, DirectionalLight, DoubleSide, Group, HemisphereLight, LineBasicMaterial, LineSegments, Matrix4,
  Mesh, MeshBasicMaterial, MeshLambertMaterial, PerspectiveCamera, Scene, WebGLRenderer,
} from "./parts/three.module.min.js";
import { frames, shown } from "./arm.js";
import { worstAxis } from "./differences.js";
import { drawnByProcessor } from "./drawn_by.js";
import { bodies, exaggerated, outline, placed, ribbons } from "./solids.js";

// So long after the last change an arm is at rest.
const REST_MS = 250;
const FIELD = 35, TRACE_S = 20, TRACE_STEP_M = 0.002, MOST_LINES = 4000, SAME = 2e-3;
const OUTLINE = 0.0035, TRACE = 0.002;

export function makeSolidScene(host, model) {
  const { skeleton } = model, solids = bodies(skeleton), joints = skeleton.rows.length;
  if (!solids.length) throw new Error("no bodies");
  const axes = model.axes || [], gripper = axes.findIndex((axis) => axis.kind === "gripper");
  const canvas = document.createElement("canvas"), label = document.createElement("p");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", model.words("skeleton"));
  Object.assign(canvas.style, { display: "block", width: "100%", height: "100%", touchAction: "none", cursor: "grab" });
  Object.assign(label.style, { position: "absolute", left: "0.6rem", bottom: "0.4rem", margin: "0", fontWeight: "700", pointerEvents: "none" });
  // Smooth edges cost a processor as much as all bodies do: it smooths an arm at rest, by one frame that is twice as fine.
  const slow = drawnByProcessor();
  const renderer = new WebGLRenderer({ canvas, antialias: !slow, alpha: true, powerPreference: "low-power" });
  if (getComputedStyle(host).position === "static") host.style.position = "relative";
  host.replaceChildren(canvas, label);

  const scene = new Scene(), camera = new PerspectiveCamera(FIELD, 1, 0.02, 100);
  const light = new DirectionalLight(0xffffff, 2.4);
  scene.add(new HemisphereLight(0xffffff, 0x778899, 2.2), light);
  camera.up.set(0, 0, 1);
  const geometries = solids.map((body) => {
    const geometry = new BufferGeometry();
    const at = new Float32Array(body.faces.length * 3);
    body.faces.forEach((corner, index) => at.set(body.vertices.subarray(3 * corner, 3 * corner + 3), 3 * index));
    geometry.setAttribute("position", new BufferAttribute(at, 3));
    geometry.computeVertexNormals();
    return geometry;
  });
  const solid = arm(new MeshLambertMaterial());
  const ghost = arm(seeThrough(0.38)), planned = arm(seeThrough(0.5)), tenfold = arm(seeThrough(0.5));
  const report = strip(), stop = strip(), trace = strip(), grid = new LineSegments(new BufferGeometry(), new LineBasicMaterial());
  grid.geometry.setAttribute("position", new BufferAttribute(new Float32Array(table()), 3));
  scene.add(grid);

  const centre = skeleton.base.slice(9), reach = skeleton.reach_m;
  centre[2] += 0.22 * reach;
  let azimuth = -Math.PI / 3, elevation = 0.4, distance = 2.9 * reach, state = null, shownNow = "", warn = "", waiting = false, from = null, drawn = 0, atRest = null;
  const way = [];

  function seeThrough(opacity) {
    return new MeshLambertMaterial({ transparent: true, opacity, depthWrite: false, polygonOffset: true, polygonOffsetFactor: 2, polygonOffsetUnits: 2 });
  }

  function arm(material) {
    const group = new Group();
    group.material = material;
    group.add(...geometries.map((geometry) => {
      const mesh = new Mesh(geometry, material);
      mesh.matrixAutoUpdate = false;
      return mesh;
    }));
    group.visible = false;
    scene.add(group);
    return group;
  }

  function strip() {
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(new Float32Array(18 * MOST_LINES), 3));
    const mesh = new Mesh(geometry, new MeshBasicMaterial({ side: DoubleSide }));
    mesh.frustumCulled = false;
    mesh.visible = false;
    scene.add(mesh);
    return mesh;
  }

  function table() {
    const z = skeleton.table_m, far = skeleton.reach_m, lines = [];
    for (let i = -4; i <= 4; i += 1) {
      const s = (i * far) / 4;
      lines.push(s, -far, z, s, far, z, -far, s, z, far, s, z);
    }
    return lines;
  }

  const whole = (values) => Boolean(values) && values.length >= joints && values.slice(0, joints).every((value) => value !== null);
  const opening = (values) => (gripper < 0 ? 0 : values[gripper]);

  function place(group, values) {
    group.visible = whole(values);
    if (!group.visible) return null;
    const found = frames(skeleton, values);
    solids.forEach((body, index) => {
      const [ax, ay, az, bx, by, bz, cx, cy, cz, x, y, z] = placed(skeleton, body, found, opening(values));
      group.children[index].matrix.copy(new Matrix4().set(ax, bx, cx, x, ay, by, cy, y, az, bz, cz, z, 0, 0, 0, 1));
      group.children[index].matrixWorldNeedsUpdate = true;
    });
    return found;
  }

  function lines(mesh, list, width) {
    const eye = camera.position.toArray(), count = ribbons(list, width, eye, mesh.geometry.attributes.position.array);
    mesh.visible = count > 0;
    mesh.geometry.setDrawRange(0, count);
    const corners = mesh.geometry.attributes.position;
    // Only what is drawn goes to the graphics card.
    corners.clearUpdateRanges();
    corners.addUpdateRange(0, 3 * count);
    corners.needsUpdate = count > 0;
  }

  function rim(values) {
    if (!whole(values)) return [];
    const found = frames(skeleton, values), eye = camera.position.toArray();
    return solids.flatMap((body) => outline(body, placed(skeleton, body, found, opening(values)), eye));
  }

  const apart = (one, other) => whole(one) && whole(other) && one.some((value, index) => other[index] !== null && Math.abs(value - other[index]) > SAME);

  function arrange() {
    const { commanded, simulated, reported, known } = state;
    const shownAs = known && whole(simulated) ? simulated : known ? commanded : null;
    place(solid, shownAs);
    place(ghost, known && apart(commanded, shownAs) ? commanded : null);
    place(planned, state.planned || null);
    const ten = known ? exaggerated(state) : null;
    place(tenfold, ten);
    lines(report, rim(reported), OUTLINE);
    lines(stop, state.rest && state.rest.length && known ? rim(state.rest).filter((_, index) => index % 2) : [], OUTLINE);
    lines(trace, way.slice(1).map((point, index) => [way[index].at, point.at]), TRACE);
    const worst = worstAxis(state.used), axis = axes[worst];
    const words = ten && axis ? `${model.words("exaggerated")}: ${axis.name} ${shown(axis, state.errors[worst])}` : "";
    const line = known ? words : model.words("no_pose"), tint = known ? warn : "";
    if (label.textContent !== line) label.textContent = line;
    if (label.style.color !== tint) label.style.color = tint;
  }

  function remember() {
    const { commanded, known } = state, now = performance.now() / 1000;
    if (!known || !whole(commanded)) {
      way.length = 0;
      return;
    }
    const at = frames(skeleton, commanded).pop().slice(9), last = way[way.length - 1];
    if (!last || Math.hypot(...at.map((value, i) => value - last.at[i])) > TRACE_STEP_M) way.push({ at, now });
    while (way.length && (way[0].now < now - TRACE_S || way.length > MOST_LINES / 4)) way.shift();
  }

  const colour = (name, other) => {
    const style = getComputedStyle(document.documentElement);
    return style.getPropertyValue(`--${name}`).trim() || (other ? style.getPropertyValue(`--${other}`).trim() : "");
  };

  function paint() {
    warn = colour("warn");
    solid.material.color.set(colour("simulated"));
    ghost.material.color.set(colour("sent"));
    planned.material.color.set(colour("planned", "sent"));
    tenfold.material.color.set(colour("warn"));
    report.material.color.set(colour("reported"));
    stop.material.color.set(colour("stop"));
    trace.material.color.set(colour("sent"));
    grid.material.color.set(colour("line"));
  }

  // A canvas that is given its size is emptied: only where it has another one.
  function fit(width, height, fine) {
    const ratio = slow ? (fine ? 2 : 1) : Math.min(2, window.devicePixelRatio || 1);
    if (canvas.width === Math.floor(width * ratio) && canvas.height === Math.floor(height * ratio)) return;
    renderer.setPixelRatio(ratio);
    renderer.setSize(width, height, false);
    camera.aspect = width / height;
    camera.updateProjectionMatrix();
  }

  function draw(fine = false) {
    waiting = false;
    clearTimeout(atRest);
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (!state || !width || !height) return;
    fit(width, height, fine);
    const far = distance * Math.max(1, 1.15 / camera.aspect), flat = Math.cos(elevation) * far;
    camera.position.set(centre[0] + Math.cos(azimuth) * flat, centre[1] + Math.sin(azimuth) * flat, centre[2] + Math.sin(elevation) * far);
    camera.lookAt(...centre);
    camera.updateMatrixWorld();
    light.position.copy(camera.position);
    arrange();
    renderer.render(scene, camera);
    canvas.dataset.frames = String((drawn += 1));
    if (slow && !fine) atRest = setTimeout(later, REST_MS, true);
  }

  function later(fine = false) {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => draw(fine));
  }

  function turn(right, up) {
    azimuth -= right;
    elevation = Math.min(1.5, Math.max(-0.3, elevation + up));
    later();
  }

  function nearer(times) {
    distance = Math.min(12 * reach, Math.max(0.6 * reach, distance * times));
    later();
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    from = [event.clientX, event.clientY];
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from || !event.buttons) return;
    turn((event.clientX - from[0]) * 0.01, (event.clientY - from[1]) * 0.01);
    from = [event.clientX, event.clientY];
  });
  // Only with a key: a page that is scrolled over the scene goes on.
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    nearer(Math.exp(event.deltaY * 0.002));
    event.preventDefault();
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
    if (step) turn(...step);
    else if (event.key === "PageUp" || event.key === "PageDown") nearer(event.key === "PageUp" ? 0.9 : 1.1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  canvas.addEventListener("webglcontextrestored", () => later());
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const repaint = () => {
    paint();
    later();
  };
  dark.addEventListener("change", repaint);
  paint();

  return {
    show(next) {
      const { stale, ...rest } = next, words = JSON.stringify(rest);
      // What is old is dimmed by the page's own means: it needs no frame.
      canvas.style.filter = stale ? "grayscale(1)" : "";
      if (words === shownNow) return;
      shownNow = words;
      state = next;
      remember();
      // Whoever shows is in a frame: one more would put the whole window together twice for each picture.
      if (!waiting) draw();
    },
    resize: () => later(),
    close() {
      dark.removeEventListener("change", repaint);
      clearTimeout(atRest);
      geometries.forEach((geometry) => geometry.dispose());
      renderer.dispose();
      renderer.forceContextLoss();
      host.replaceChildren();
    },
  };
}
