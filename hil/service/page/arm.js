// An arm from the positions of its axes: link frames, and how they look from somewhere. No DOM here.

// Frames of the base, of every link and of the tool, each x, y and z axis and origin, one after the other.
export function frames(skeleton, positions) {
  const found = [skeleton.base.slice()];
  skeleton.rows.forEach((row, index) => found.push(appended(found[index], row, positions[index])));
  found.push(behind(found[found.length - 1], skeleton.tool));
  return found;
}

// Origins of the same: [[x, y, z], ...] in metres.
export function origins(skeleton, positions) {
  return frames(skeleton, positions).map((frame) => frame.slice(9));
}

// A frame as seen from another one, in the world.
function behind(frame, inner) {
  const next = new Array(12);
  for (let column = 0; column < 12; column += 3) {
    for (let i = 0; i < 3; i += 1) {
      next[column + i] = inner[column] * frame[i] + inner[column + 1] * frame[3 + i] + inner[column + 2] * frame[6 + i]
        + (column === 9 ? frame[9 + i] : 0);
    }
  }
  return next;
}

// A frame (x, y, z axis, origin) times Rz(theta) Tz(d) Tx(a) Rx(alpha).
function appended(frame, row, position) {
  const moved = row.sign * position;
  const theta = row.theta + (row.revolute ? moved : 0), d = row.d + (row.revolute ? 0 : moved);
  const ct = Math.cos(theta), st = Math.sin(theta), ca = Math.cos(row.alpha), sa = Math.sin(row.alpha);
  const next = new Array(12);
  for (let i = 0; i < 3; i += 1) {
    const x = ct * frame[i] + st * frame[3 + i], y = ct * frame[3 + i] - st * frame[i], z = frame[6 + i];
    next[i] = x;
    next[3 + i] = ca * y + sa * z;
    next[6 + i] = ca * z - sa * y;
    next[9 + i] = frame[9 + i] + d * z + row.a * x;
  }
  return next;
}

// How a view from a direction maps points to the screen, right and down, in units of `scale`.
export function view(azimuth, elevation, scale, middle) {
  const ca = Math.cos(azimuth), sa = Math.sin(azimuth), ce = Math.cos(elevation), se = Math.sin(elevation);
  return ([x, y, z]) => [
    middle[0] + scale * (-sa * x + ca * y),
    middle[1] - scale * (-ca * se * x - sa * se * y + ce * z),
  ];
}

// The same in degrees or millimetres, as people read it.
export function shown(axis, value) {
  if (value === null || value === undefined) return "–";
  const number = axis.kind === "revolute" ? value * 180 / Math.PI : value * 1000;
  return `${(Math.round(number * 10) / 10 + 0).toFixed(1)} ${unit(axis)}`;
}

function unit(axis) {
  return axis.kind === "revolute" ? "°" : "mm";
}

// What an address says behind its #: which arm, and for a server without a lab's keys the key of its start.
export function addressed(hash) {
  const [arm, rest] = hash.slice(1).split("?");
  const key = new URLSearchParams(rest).get("key") || "";
  try {
    return { arm: decodeURIComponent(arm), key };
  } catch {
    return { arm: "", key };
  }
}

// How long to wait before connecting anew for the n-th time, in milliseconds.
export function pause(tries) {
  return [300, 1000, 2000, 5000][Math.min(tries, 3)];
}

// What there is to say about the picture that is shown: its age, and a warning, each as the key of a text and its
// values; null for no warning. Seconds: age of the picture (null for none), age of the camera's newest as the lab says
// (nothing if it says none), and for how long somebody has looked: a lab fetches no pictures while nobody does.
const OLD_S = 1, ASKED_S = 2;
export function pictureWords(age, newest, looked) {
  if (age === null) return { age: ["picture_none"], warning: looked > ASKED_S ? ["picture_missing"] : null };
  if (age <= OLD_S) return { age: ["picture_age", age.toFixed(1)], warning: null };
  const hangs = looked > ASKED_S && (newest == null || newest > OLD_S);
  const why = hangs ? "picture_hangs" : looked > ASKED_S ? "picture_slow" : "picture_waiting";
  return { age: ["picture_old", age.toFixed(1)], warning: [why, step(age)] };
}

// Whoever hears the page would hear every second counted: beyond a few, 5, 10, 20, and so on.
function step(seconds) {
  const whole = Math.floor(seconds);
  return whole < 5 ? whole : [5, 10, 20, 30, 60, 300, 3600].filter((each) => each <= whole).pop();
}
