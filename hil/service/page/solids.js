// An arm's bodies as numbers: triangles of its links, where they are, and their outline as an eye sees it. No DOM here.

const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;

// Of a skeleton's solids: [{link, side, vertices, faces, edges}]; an edge: two vertices, and the normals beside it.
export function bodies(skeleton) {
  return (skeleton.solids || []).map(({ link, side, vertices, faces }) => {
    const body = { link, side: side || 0, vertices: new Float32Array(bytes(vertices)), faces: new Uint16Array(bytes(faces)) };
    return { ...body, edges: edges(body) };
  });
}

function edges({ vertices, faces }) {
  const met = new Map(), found = [];
  for (let face = 0; face < faces.length; face += 3) {
    const corners = [faces[face], faces[face + 1], faces[face + 2]];
    const side = { normal: normal(vertices, corners), at: corners[0] };
    corners.forEach((from, index) => {
      const to = corners[(index + 1) % 3], key = from < to ? from * 65536 + to : to * 65536 + from;
      const other = met.get(key);
      if (other) {
        met.delete(key);
        found.push({ from, to, one: other, other: side });
      } else {
        met.set(key, side);
      }
    });
  }
  return found;
}

function normal(vertices, [a, b, c]) {
  const u = [0, 1, 2].map((i) => vertices[3 * b + i] - vertices[3 * a + i]);
  const v = [0, 1, 2].map((i) => vertices[3 * c + i] - vertices[3 * a + i]);
  return [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
}

// Where a body is: the frame that it rides on; a finger as far from the tool's axis as the gripper is open.
export function placed(skeleton, body, frames, opening) {
  const frame = frames[body.link];
  if (!body.side) return frame;
  const away = body.side * (skeleton.finger_apart_m + (opening || 0) / 2);
  return frame.map((value, index) => (index < 9 ? value : value + away * frame[index - 6]));
}

// A corner of a body in the world: x, y, z.
export const world = (frame, vertices, index) => {
  const x = vertices[3 * index], y = vertices[3 * index + 1], z = vertices[3 * index + 2];
  return [0, 1, 2].map((i) => frame[9 + i] + x * frame[i] + y * frame[3 + i] + z * frame[6 + i]);
};

// Edges between what an eye sees of a body and what it does not, in the world: [[from, to], ...].
export function outline(body, frame, eye) {
  const apart = [0, 1, 2].map((i) => eye[i] - frame[9 + i]);
  const local = [0, 3, 6].map((column) => apart[0] * frame[column] + apart[1] * frame[column + 1] + apart[2] * frame[column + 2]);
  const seen = ({ normal: n, at }) => n[0] * (local[0] - body.vertices[3 * at]) + n[1] * (local[1] - body.vertices[3 * at + 1])
    + n[2] * (local[2] - body.vertices[3 * at + 2]) > 0;
  return body.edges.filter((edge) => seen(edge.one) !== seen(edge.other))
    .map((edge) => [world(frame, body.vertices, edge.from), world(frame, body.vertices, edge.to)]);
}

// Lines of a width in the world, that face the eye: corners of two triangles each, x, y, z after another.
export function ribbons(lines, width, eye, into) {
  let count = 0;
  for (const [a, b] of lines) {
    const along = [0, 1, 2].map((i) => b[i] - a[i]), sight = [0, 1, 2].map((i) => eye[i] - (a[i] + b[i]) / 2);
    const across = [along[1] * sight[2] - along[2] * sight[1], along[2] * sight[0] - along[0] * sight[2], along[0] * sight[1] - along[1] * sight[0]];
    const length = Math.hypot(...across);
    if (length === 0 || count + 18 > into.length) continue;
    // As wide on the screen wherever it is: wider in the distance.
    const half = width * Math.hypot(...sight) / length / 2;
    const corner = (point, way) => {
      for (let i = 0; i < 3; i += 1) into[count + i] = point[i] + way * half * across[i];
      count += 3;
    };
    corner(a, 1), corner(a, -1), corner(b, 1), corner(b, 1), corner(a, -1), corner(b, -1);
  }
  return count / 3;
}

const FOLD = 10, FROM_USED = 0.2;

// The pose in which every error is ten times as large; null where none is worth it, or nothing is known.
export function exaggerated({ commanded, errors, used }) {
  if (!errors || !used || !used.some((part) => part !== null && part > FROM_USED)) return null;
  return commanded.map((value, index) => (value === null ? null : value + FOLD * (errors[index] || 0)));
}
