// How an arm is, in one word for its lamp. What the lab says of it counts; that nothing is heard of it, or that what is
// shown is old, only a screen knows. No DOM here.
import { OLD_MS } from "./differences.js";

// off, waiting, old, away, starting, or a word of the lab's: unknown, ready, armed, moving, alarm, frozen, latched,
// fault, estop.
export function lamp({ connected, ageMs, seen, presence }) {
  if (!connected) return "off";
  if (presence && presence.words) return presence.starting_s == null ? "away" : "starting";
  if (!seen) return "waiting";
  return ageMs > OLD_MS ? "old" : seen.lamp || "old";
}
