// The arm in space as lines, by its skeleton: where the parts of three.js are not there. Draws what changed, never else.
import { origins, view } from "./arm.js";

// host: an element to draw in. model: {skeleton, words}; words(key) gives a text in the page's language.
// show({commanded, simulated, reported, known, stale}): positions per axis, null for what is not known.
export function makeWireScene(host, model) {
  const canvas = document.createElement("canvas");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", model.words("skeleton"));
  host.replaceChildren(canvas);
  let azimuth = -Math.PI / 3, elevation = 0.4, state = null, shown = "", waiting = false, from = null;

  const paint = () => {
    waiting = false;
    if (state) draw(canvas, model.skeleton, state, azimuth, elevation);
  };
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(paint);
  };
  const turn = (right, up) => {
    azimuth -= right;
    elevation = Math.min(1.5, Math.max(-0.3, elevation + up));
    later();
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    from = [event.clientX, event.clientY];
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from || !event.buttons) return;
    turn((event.clientX - from[0]) * 0.01, (event.clientY - from[1]) * 0.01);
    from = [event.clientX, event.clientY];
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
    if (!step) return;
    turn(...step);
    event.preventDefault();
  });

  return {
    show(next) {
      const words = JSON.stringify(next);
      if (words === shown) return;
      shown = words;
      state = next;
      if (!waiting) paint();
    },
    resize: later,
    close: () => host.replaceChildren(),
  };
}

export function prepared(canvas) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const style = getComputedStyle(document.documentElement);
  return { pen, width, height, colour: (name) => style.getPropertyValue(`--${name}`).trim() };
}

function draw(canvas, skeleton, state, azimuth, elevation) {
  const { pen, width, height, colour } = prepared(canvas);
  const reach = skeleton.reach_m;
  const place = view(azimuth, elevation, Math.min(width, height * 1.3) / (2.3 * reach), [width / 2, height * 0.62]);
  pen.globalAlpha = state.stale ? 0.35 : 1;
  const line = (points, name, thick, dash) => {
    pen.beginPath();
    points.map(place).forEach(([x, y], index) => (index ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.strokeStyle = colour(name);
    pen.lineWidth = thick;
    pen.setLineDash(dash);
    pen.lineJoin = pen.lineCap = "round";
    pen.stroke();
  };
  const z = skeleton.table_m;
  for (let i = -4; i <= 4; i += 1) {
    const s = (i * reach) / 4;
    line([[s, -reach, z], [s, reach, z]], "line", 1, []);
    line([[-reach, s, z], [reach, s, z]], "line", 1, []);
  }
  const joints = skeleton.rows.length;
  const whole = (values) => values && values.slice(0, joints).every((value) => value !== null);
  if (state.planned && whole(state.planned)) line(origins(skeleton, state.planned), "planned", 4, [2, 5]);
  if (whole(state.reported)) line(origins(skeleton, state.reported), "reported", 3, [7, 6]);
  if (!state.known || !whole(state.commanded)) return;
  const points = origins(skeleton, state.commanded);
  line(points, "sent", 6, []);
  pen.fillStyle = colour("text");
  points.map(place).forEach(([x, y]) => {
    pen.beginPath();
    pen.arc(x, y, 4, 0, 2 * Math.PI);
    pen.fill();
  });
}
