// What is so, in one sentence: what is missing before the arm moves. No DOM here.
import { OLD_MS } from "./differences.js";

const STARTING = new Set(["disconnected", "connecting", "energising"]);

// Whether the pose that is shown is one that somebody knows.
export function known(seen) {
  return seen !== null && seen.mode !== "unknown_pose" && seen.mode !== "disconnected" && seen.commanded.every((value) => value !== null);
}

// The key of a sentence and its values. `may`: what the role allows; `picture`: whether one is needed, shown and fresh.
export function missing({ connected, oldS, seen, news, may, startingS, picture, running, waits, presence = null }) {
  if (!connected) return ["lost"];
  if (presence && presence.words) return presence.starting_s == null ? ["not_there", presence.words] : ["starting", startingS.toFixed(0)];
  if (!seen || !news) return ["connecting"];
  if (oldS * 1000 > OLD_MS) return ["nothing_new", oldS.toFixed(0)];
  const { mode, lease } = seen;
  if (running) return ["moves_while", running];
  if (STARTING.has(mode)) return mode === "energising" && news.yours ? ["energises"] : ["starting", startingS.toFixed(0)];
  if (lease.latched) return [may.reset || may.here ? "latched_yours" : "latched_theirs", lease.latched];
  if (lease.frozen) return [may.reset ? "frozen_yours" : "frozen"];
  if (seen.alarm) return ["parted", seen.alarm];
  if (!may.drive) return ["watches"];
  if (!news.yours) return taken(news, lease, waits);
  if (mode === "unknown_pose") return [may.confirm ? "unknown_yours" : "unknown_theirs"];
  if (mode === "fault" || mode === "estop") return [may.reset ? "fault_yours" : "fault_theirs", seen.refusal || ""];
  if (picture.needed && !picture.shown) return ["show_picture"];
  if (picture.needed && picture.old) return ["wait_picture"];
  if (news.must_park) return ["must_park"];
  return ["ready"];
}

function taken(news, lease, waits) {
  const holder = lease.holder || null;
  if (news.place) return ["in_queue", news.place];
  if (lease.phase === "held") return ["held_by", holder];
  if (lease.phase === "suspended") return ["kept_for", holder, (lease.kept_s ?? 0).toFixed(0)];
  if (lease.phase === "free") return ["press_drive"];
  if (lease.phase === "clearing") return ["left_out"];
  return [waits ? "comes" : `phase_${lease.phase}`];
}
