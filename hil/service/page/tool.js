// The tool along and about its axes, and what the buttons of the axes and of the tool ask for. No DOM here but buttons.
import { enable, made } from "./dom.js";

const FULL_POSE = 6;
const DEGREE = Math.PI / 180;
// Rates at all of the rig's speed; the lab brings a hold down to what this rig and this person may.
const ALONG_M_S = 0.25, TURN_RAD_S = 60 * DEGREE;

// Letters of the tool's turns: an arm that takes any orientation turns about three axes, others pitch and roll.
export function turnsOf(axes) {
  return axes.filter((axis) => axis.kind !== "gripper").length >= FULL_POSE ? "abc" : "pr";
}

// One axis: so much of each, zero but for one.
export function axisMove(axes, index, amount) {
  return { type: "axes", amounts: axes.map((_, each) => (each === index ? amount : 0)) };
}

// Held: this part of its speed. A step: `size` in degrees or millimetres.
export function axisAmount(axis, sign, { size, share }) {
  if (size) return sign * size * (axis.kind === "revolute" ? DEGREE : 1e-3);
  return sign * share * axis.speed;
}

// way: 0 to 2 along x, y, z; from 3 on the turns.
export function toolMove(turns, way, sign, { size, share, frame }) {
  const linear = [0, 0, 0], turn = [0, 0, 0];
  const move = { type: "tool", frame, linear, pitch: 0, roll: 0, turn };
  if (way < 3) linear[way] = sign * (size ? size * 1e-3 : share * ALONG_M_S);
  else {
    const amount = sign * (size ? size * DEGREE : share * TURN_RAD_S);
    if (turns === "abc") turn[way - 3] = amount;
    else move[way === 3 ? "pitch" : "roll"] = amount;
  }
  return move;
}

export class Tool {
  // hold(button, way, sign): makes a button one that leads.
  constructor(host, { tell, hold }) {
    Object.assign(this, { host, tell, hold });
    this.turns = "pr";
    this.buttons = [];
  }

  build(axes) {
    this.turns = turnsOf(axes);
    this.names = ["x", "y", "z", ...(this.turns === "pr" ? ["pitch", "roll"] : ["a", "b", "c"])];
    this.buttons = this.names.flatMap((name, way) => [-1, 1].map((sign) => {
      const button = made("button", { type: "button", class: "lead", id: `tool-${name}-${sign < 0 ? "minus" : "plus"}`,
        textContent: `${name} ${sign < 0 ? "−" : "+"}` });
      this.hold(button, way, sign);
      return { button, name, sign };
    }));
    this.host.replaceChildren(...this.buttons.map(({ button }) => button));
    this.speak();
  }

  speak() {
    for (const { button, name, sign } of this.buttons) {
      button.setAttribute("aria-label", this.tell(sign < 0 ? "tool_less" : "tool_more", name));
    }
  }

  allow(may) {
    for (const { button } of this.buttons) enable(button, may);
  }
}
