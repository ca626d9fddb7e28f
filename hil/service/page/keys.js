// Keys, as `hil drive` has them, but held: a letter leads for as long as it is down. Esc and Space stop, always.

const TOOL = { x: 0, y: 1, z: 2 };
const PLANS = { h: "home", k: "park", e: "test" };

// Whether keys are letters of a text here, or choose something.
export function typing(part) {
  return part instanceof HTMLTextAreaElement || part instanceof HTMLSelectElement
    || (part instanceof HTMLInputElement && !["checkbox", "radio", "button", "range"].includes(part.type));
}

// The axis that a number picks: the one whose name ends with it where all names end with one (J1 J2 J3 J5 J6), else the
// one at this place; -1 for none.
export function numbered(names, number) {
  const ends = names.map((name) => Number(name.slice(-1)) || 0);
  if (ends.every((end) => end > 0) && new Set(ends).size === names.length) return ends.indexOf(number);
  return number <= names.length ? number - 1 : -1;
}

// What a key means: {stop}, {axis, sign}, {tool, sign}, {plan}, {next}, {recover}, {teach}; null for nothing, and for numbers.
// turns: letters of the tool's turns, "pr" or "abc".
export function meaning(key, turns, chosen, gripper) {
  if (key === "Escape" || key === " ") return { stop: true };
  if (key === "+" || key === "=") return { axis: chosen, sign: 1 };
  if (key === "-") return { axis: chosen, sign: -1 };
  if (key.length !== 1) return null;
  const small = key.toLowerCase(), sign = key === small ? 1 : -1;
  if (small in TOOL) return { tool: TOOL[small], sign };
  if (turns.includes(small)) return { tool: 3 + turns.indexOf(small), sign };
  if (small === "g" && gripper >= 0) return { axis: gripper, sign };
  if (key in PLANS) return { plan: PLANS[key] };
  return { f: { next: "frame" }, s: { next: "speed" }, i: { next: "size" }, u: { recover: true }, t: { teach: true } }[key] || null;
}

// act(meaning, source): begins it, true for something that is held. release(source), repeated(), other(): of the key.
export function listen({ stop, act, mean, release, repeated, other }) {
  let code = null;
  const open = () => {
    if (code === null) return;
    const was = code;
    code = null;
    release(`key ${was}`);
  };
  addEventListener("keydown", (event) => {
    // While Cmd is down, a Mac says of no other key that it comes up.
    if (event.ctrlKey || event.altKey || event.metaKey) {
      open();
      return;
    }
    const plain = !typing(event.target);
    if (event.key === "Escape" || (event.key === " " && plain)) {
      event.preventDefault();
      event.stopPropagation();
      if (!event.repeat) stop();
      open();
      return;
    }
    if (!plain || event.target instanceof HTMLInputElement || event.isComposing) return;
    if (event.code === code) {
      event.preventDefault();
      repeated();
      return;
    }
    const meant = event.repeat ? null : mean(event.key);
    if (code !== null && !event.repeat) other();
    if (!meant) return;
    event.preventDefault();
    if (act(meant, `key ${event.code}`)) code = event.code;
  }, true);
  addEventListener("keyup", (event) => {
    // Some browsers press a focused button when the space bar comes up.
    if (event.key === " " && !typing(event.target)) event.preventDefault();
    if (event.code === code) open();
  }, true);
  return { open };
}
