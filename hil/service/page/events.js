// What happened, newest first; one of the same kind as the newest adds to its count. No DOM here.

const MOST = 40;

export class Events {
  constructor() {
    this.lines = [];
  }

  // kind: what makes two the same. words: what is shown. language: in which they are.
  add(kind, words, language, at) {
    const newest = this.lines.find((line) => line.kind === kind && line.words === words);
    if (newest) {
      newest.count += 1;
      newest.at = at;
      this.lines = [newest, ...this.lines.filter((line) => line !== newest)];
    } else {
      this.lines.unshift({ kind, words, language, at, count: 1 });
      this.lines.length = Math.min(this.lines.length, MOST);
    }
  }
}
