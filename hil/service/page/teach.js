// Poses that were reached by hand, as steps of a task; the same text as `t` of `hil drive` writes. No DOM here.

const DIGITS = 4;

// A value as people write it, rounded, and not beyond a soft limit by its rounding.
function inside(axis, value) {
  const scale = axis.kind === "revolute" ? Math.PI / 180 : 1e-3, least = 10 ** -DIGITS;
  let rounded = Number((value / scale).toFixed(DIGITS));
  if (rounded * scale > axis.upper) rounded -= least;
  else if (rounded * scale < axis.lower) rounded += least;
  return String(Number(rounded.toFixed(DIGITS)) + 0);
}

const quoted = (name) => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name));

// The steps that bring an arm to this pose.
export function steps(axes, positions, lastOpening = null) {
  const tables = { joints_deg: [], joints_mm: [] };
  let opening = null;
  axes.forEach((axis, index) => {
    const value = inside(axis, positions[index]);
    if (axis.kind === "gripper") opening = value;
    else tables[axis.kind === "revolute" ? "joints_deg" : "joints_mm"].push(`${quoted(axis.name)} = ${value}`);
  });
  const goals = Object.entries(tables).filter(([, values]) => values.length).map(([key, values]) => `${key} = { ${values.join(", ")} }\n`);
  let text = `[[step]]\ndo = "move"\n${goals.join("")}`;
  if (opening !== null && Number(opening) !== lastOpening) text += `\n[[step]]\ndo = "gripper"\nopening_mm = ${opening}\n`;
  return text;
}

// A task with the steps of one more pose; one that is empty is begun.
export function taught(task, axes, positions, title) {
  const text = task.trim() ? task.trimEnd() : `title = ${JSON.stringify(title)}\nstart = "park"`;
  const openings = [...text.matchAll(/^\s*opening_mm\s*=\s*([-\d.]+)/gm)];
  const last = openings.length ? Number(openings[openings.length - 1][1]) : null;
  return `${text}\n\n${steps(axes, positions, last)}`;
}
