// The dead-man of this page: who presses, whether that counts, and every way in which it ends. No DOM here.
//
// A hand counts from a press to whatever comes first: it opens, the page loses sight or focus, the page's own thread
// stands still, the computer sleeps, the lab ends it. Then it has to be pressed anew: what is still down is no press.

// A thread that was not here for so long cannot have seen the hand open.
export const STALL_S = 0.2;
// That the dead-man was released is said of one's own release too, perhaps after the next press; the answers to beats
// say it of the right one.
const ENDING = new Set(["heartbeat_lost", "suspended", "frozen", "stopped", "press_again", "taken_over"]);
const MOST_BEATEN = 100;

export class DeadMan {
  // ended: called with the key of a text when a hold ends that the hand has not ended.
  constructor(ended = () => {}) {
    this.ended = ended;
    this.hand = null;
    this.counts = false;
    this.tripS = null;
    this.freeEpoch = null;
    this.sent = new Map();
    this.lookedAt = null;
  }

  // Somebody presses; false where another hand is there already.
  press(source, now) {
    if (this.hand) return false;
    this.hand = { source, changedAt: now, reportedAt: null, counted: false };
    return true;
  }

  // The hand has changed something; or its input says by itself that it is still there.
  changed(now) {
    if (this.hand) this.hand.changedAt = now;
  }

  reported(now) {
    if (this.hand) this.hand.reportedAt = now;
  }

  // Another key has ended the repetition of the one that is held.
  silent() {
    if (this.hand) this.hand.reportedAt = null;
  }

  // The hand opens, or this ends it.
  letGo() {
    this.hand = null;
  }

  drop(why) {
    if (!this.hand) return;
    this.hand = null;
    this.ended(why);
  }

  // To be called every 50 ms, by the page's clock and by that of the wall, which goes on while a computer sleeps.
  look(now, wall) {
    const before = this.lookedAt;
    this.lookedAt = { now, wall };
    if (!before) return;
    const gap = Math.max(now - before.now, Math.abs(wall - before.wall));
    if (gap > STALL_S) this.drop("hold_stalled");
  }

  held(epoch) {
    return this.hand !== null && this.freeEpoch === epoch;
  }

  // Fields of a beat: what shows the hand, by the lab's clock, which is so far ahead.
  signs(ahead) {
    if (!this.hand) return {};
    const { changedAt, reportedAt } = this.hand;
    return reportedAt === null ? { changed_s: ahead + changedAt } : { changed_s: ahead + changedAt, reported_s: ahead + reportedAt };
  }

  // A beat was sent; under the epoch of one that was free it may be held.
  beaten(seq, held, epoch, now) {
    if (this.sent.size >= MOST_BEATEN) this.sent.clear();
    this.sent.set(seq, { now, hand: held ? this.hand : null });
    if (!held) this.freeEpoch = epoch;
  }

  seen({ to, held }, now) {
    const beat = this.sent.get(to);
    this.counts = held;
    if (!beat) return;
    this.sent.delete(to);
    this.tripS = now - beat.now;
    if (!beat.hand || beat.hand !== this.hand) return;
    if (held) this.hand.counted = true;
    else if (this.hand.counted) this.refree("hold_ended");
  }

  // Whether it was a beat that the lab has refused: what has changed there it tells by itself.
  refused(to) {
    return this.sent.delete(to);
  }

  noticed(kind) {
    if (ENDING.has(kind)) this.refree(kind === "press_again" ? "hold_again" : "hold_ended");
  }

  // The lease has changed: what is held has to be let go of and pressed anew.
  refree(why) {
    this.freeEpoch = null;
    this.drop(why);
  }

  lost() {
    this.counts = false;
    this.sent.clear();
    this.refree("hold_lost");
  }
}
