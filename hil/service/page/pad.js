// A game pad: its right shoulder button is held, then its sticks lead the axes, as `hil jog --pad` has them. No DOM here.

export const HOLD = 5, DEAD_ZONE = 0.15;
// For the axes in their order: stick or button, and its sign.
const WAYS = [
  [["stick", 0, -1]], [["stick", 1, -1]], [["stick", 3, -1]], [["button", 12, 1], ["button", 13, -1]],
  [["stick", 2, 1]], [["button", 1, 1], ["button", 0, -1]], [["button", 3, 1], ["button", 2, -1]],
];

// How far a stick is pushed, -1 to 1: nothing within the dead zone, and from its edge on from nothing again.
export function pushed(value) {
  const away = (Math.abs(value) - DEAD_ZONE) / (1 - DEAD_ZONE);
  return away > 0 ? Math.sign(value) * Math.min(away, 1) : 0;
}

// Part of its speed for each of so many axes.
export function wanted(pad, axes) {
  return Array.from({ length: axes }, (_, axis) => (WAYS[axis] || []).reduce((sum, [kind, index, sign]) => {
    const value = kind === "stick" ? pad.axes[index] : pad.buttons[index] && pad.buttons[index].value;
    return sum + sign * pushed(value || 0);
  }, 0));
}

// Whether every number of it is one.
function sound(pad) {
  return [...pad.axes, ...pad.buttons.map((button) => button.value)].every(Number.isFinite);
}

export class PadHand {
  // press(), release(), changed(), reported(): what the hand does; press gives false where it does not count.
  constructor(hand) {
    this.hand = hand;
    this.held = this.free = false;
    this.before = this.who = "";
    this.pad = null;
  }

  // Every 50 ms, with what the browser says of pads.
  look(pads) {
    const pad = [...pads].find((each) => each && each.connected && each.buttons.length > HOLD) || null;
    this.pad = pad && sound(pad) ? pad : null;
    if (!this.pad) {
      this.free = false;
      this.end();
      return;
    }
    // Another pad is another hand, whatever it holds already.
    const who = `${pad.index} ${pad.id}`;
    if (who !== this.who) {
      this.who = who;
      this.free = false;
      this.end();
    }
    const reading = JSON.stringify([pad.axes, pad.buttons.map((button) => button.value)]);
    const changed = reading !== this.before;
    this.before = reading;
    if (!(pad.buttons[HOLD].pressed || pad.buttons[HOLD].value > 0.5)) {
      this.free = true;
      this.end();
    } else if (this.held) {
      if (changed) this.hand.changed();
      this.hand.reported();
    } else if (this.free) {
      // Anything that ends it asks for a new press.
      this.free = false;
      this.held = this.hand.press() !== false;
    }
  }

  drop() {
    this.held = this.free = false;
  }

  end() {
    if (!this.held) return;
    this.held = false;
    this.hand.release();
  }
}
