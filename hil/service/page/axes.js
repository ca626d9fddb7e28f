// The axes, one row each, at a fixed height: minus, where it is within its limits, plus, value, error with its band.
import { at, enable, made, write } from "./dom.js";
import { shown } from "./arm.js";
import { level, worstAxis } from "./differences.js";

const DEGREE = Math.PI / 180;

// Where a value is between the limits, in percent.
const place = (axis, value) => 100 * Math.min(1, Math.max(0, (value - axis.lower) / (axis.upper - axis.lower)));

// The error of an axis, its alarm's band and what part of it is used; null for what this lab does not say.
export function errorOf(seen, index) {
  const error = seen.errors ? seen.errors[index] : difference(seen, index);
  const band = seen.bands ? seen.bands[index] : null;
  const used = seen.used ? seen.used[index] : band && error !== null ? Math.abs(error) / band : null;
  return { error: error ?? null, band: band ?? null, used: used ?? null };
}

function difference(seen, index) {
  const sent = seen.commanded[index], found = seen.reported[index];
  return sent == null || found == null ? null : found - sent;
}

export class Axes {
  // hold(button, index, sign): makes a button one that leads. chosen(index): another axis was chosen.
  constructor(host, { tell, hold, chosen }) {
    Object.assign(this, { host, tell, hold, onChoice: chosen });
    this.rows = [];
    this.axes = [];
    this.chosen = 0;
  }

  build(axes) {
    this.axes = axes;
    this.rows = axes.map((axis, index) => this.row(axis, index));
    this.host.replaceChildren(...this.rows.map((row) => row.element));
    this.choose(Math.min(this.chosen, axes.length - 1));
    this.speak();
  }

  row(axis, index) {
    const parts = {
      pick: made("button", { type: "button", class: "pick", id: `axis-${index}`, textContent: axis.name }),
      minus: made("button", { type: "button", class: "lead", id: `minus-${index}`, textContent: "−" }),
      plus: made("button", { type: "button", class: "lead", id: `plus-${index}`, textContent: "+" }),
      bar: made("span", { class: "bar", role: "meter", "aria-valuemin": "0", "aria-valuemax": "100" }),
      value: made("span", { class: "value" }),
      error: made("span", { class: "number" }),
      used: made("span", { class: "used" }),
      marks: ["reported", "simulated", "sent"].map((name) => made("span", { class: `mark ${name}`, hidden: true })),
    };
    parts.bar.append(...parts.marks);
    parts.strip = made("span", { class: "error" }, parts.error, made("span", { class: "band" }, parts.used));
    parts.element = made("div", { class: "axis" }, parts.pick, parts.minus, parts.bar, parts.plus, parts.value, parts.strip);
    parts.pick.addEventListener("click", () => this.choose(index));
    this.hold(parts.minus, index, -1);
    this.hold(parts.plus, index, 1);
    return parts;
  }

  speak() {
    this.rows.forEach((row, index) => {
      const { name } = this.axes[index];
      row.minus.setAttribute("aria-label", this.tell("less", name));
      row.plus.setAttribute("aria-label", this.tell("more", name));
      row.pick.setAttribute("aria-label", this.tell("choose", name));
      row.bar.setAttribute("aria-label", name);
    });
  }

  choose(index) {
    this.chosen = (index + this.axes.length) % Math.max(1, this.axes.length);
    this.rows.forEach((row, each) => {
      row.element.classList.toggle("chosen", each === this.chosen);
      row.pick.setAttribute("aria-pressed", String(each === this.chosen));
    });
    if (this.axes.length) write(at("one"), this.axes[this.chosen].name);
    this.onChoice(this.chosen);
  }

  allow(may) {
    for (const row of this.rows) {
      enable(row.minus, may);
      enable(row.plus, may);
    }
  }

  update(seen, known) {
    this.rows.forEach((row, index) => {
      const axis = this.axes[index];
      const values = { sent: known ? seen.commanded[index] : null, simulated: seen.simulated[index], reported: seen.reported[index] };
      for (const mark of row.marks) {
        const value = values[mark.className.split(" ")[1]];
        mark.hidden = value == null;
        if (value != null) mark.style.left = `${place(axis, value).toFixed(1)}%`;
      }
      const words = shown(axis, values.sent);
      write(row.value, words);
      row.bar.setAttribute("aria-valuetext", words);
      row.bar.setAttribute("aria-valuenow", values.sent == null ? "0" : place(axis, values.sent).toFixed(0));
      const { error, band, used } = errorOf(seen, index);
      write(row.error, error === null ? "–" : band === null ? shown(axis, error) : `${short(axis, error)} / ${shown(axis, band)}`);
      row.used.style.width = `${(100 * Math.min(1, used ?? 0)).toFixed(0)}%`;
      for (const mark of ["near", "over"]) row.strip.classList.toggle(mark, level(used) === mark);
    });
  }
}

const short = (axis, value) => shown(axis, value).split(" ")[0];

// The worst of all axes: {name, error in degrees or millimetres, used}; null where nothing is known.
export function worst(axes, seen) {
  const errors = axes.map((_, index) => errorOf(seen, index));
  const sizes = errors.map(({ error }, index) => (error === null ? null : Math.abs(error) / (axes[index].kind === "revolute" ? DEGREE : 1e-3)));
  // Without any band it is the largest.
  const banded = worstAxis(errors.map(({ error, used }) => (error === null ? null : used)));
  const index = banded < 0 ? worstAxis(sizes) : banded;
  return index < 0 ? null : { name: axes[index].name, size: sizes[index], used: errors[index].used };
}
