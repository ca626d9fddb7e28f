// How far command and report are apart, how old news may be, and times as people read them. No DOM here.

export const OLD_MS = 1500;
const NEAR = 0.5, OVER = 1;

// Which axis uses most of its band; -1 for none.
export function worstAxis(used) {
  return (used || []).reduce((best, part, index) => (part !== null && (best < 0 || part > used[best]) ? index : best), -1);
}

// How much of a band is used, in a word: near, over, or nothing to say.
export function level(used) {
  if (used === null || !(used >= NEAR)) return "";
  return used >= OVER ? "over" : "near";
}

export function clock(seconds) {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}
