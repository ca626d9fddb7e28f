// What a cell of the wall says of its arm. No DOM here.
import { worstAxis } from "./differences.js";

const LOUD = new Set(["alarm", "fault", "estop", "latched"]);

// The axis that uses most of its band: {name, index, error, band, used}; null where no error is known.
export function worst(axes, seen) {
  const index = worstAxis(seen && seen.used);
  return index < 0 ? null
    : { name: axes[index].name, index, error: seen.errors[index], band: seen.bands[index], used: seen.used[index] };
}

// Whether a cell has to be seen from afar, and why, in the lab's words.
export function alarm(word, seen, fault) {
  if (!LOUD.has(word)) return { loud: false, why: "" };
  if (word === "latched") return { loud: true, why: seen.lease.latched };
  if (word === "alarm") return { loud: true, why: seen.alarm };
  return { loud: true, why: seen.alarm || fault || seen.refusal || "" };
}

// What the loop said when it went into a fault, of one of its notices; empty for another notice.
export function faultWords(text) {
  const found = /-> (?:fault|estop): (.*)/.exec(text);
  return found ? found[1] : "";
}

// What a role may do here; anybody may stop.
export function acts(role) {
  const cares = role === "teach" || role === "maintain";
  return { stop: true, take: role === "teach", tell: cares, reset: cares, freeze: cares };
}

// Slots that begin or go on within the next hour, earliest first.
export function nextHour(slots, epochS) {
  return slots.filter((slot) => slot.end_epoch_s > epochS && slot.begin_epoch_s < epochS + 3600)
    .sort((one, other) => one.begin_epoch_s - other.begin_epoch_s);
}
