// Exercises of a course: what there is to do, handing in, what came of it; for its teacher the class.
import { at, download, enable, made, write } from "./dom.js";

const MOST_BYTES = 700_000;

// A file by its expected name, whatever it is called on the student's computer, where only one can be meant.
export function nameOf(name, wanted, alone) {
  const ending = name.slice(name.lastIndexOf("."));
  const meant = wanted.filter((each) => each.endsWith(ending));
  return alone && !wanted.includes(name) && meant.length === 1 ? meant[0] : name;
}

// The first that fails of one row, as the report words it.
export function foundOf({ words, sample, time_s: time }, at_sample) {
  return sample == null ? words : `${words} (${at_sample(sample, time.toFixed(2))})`;
}

export class Courses {
  // ask(path, options): over HTTP. arm(): its name. tell: words. language(): of the page. say(refusal). text(): [name, text]
  // of what is written in the editor.
  constructor(options) {
    Object.assign(this, options);
    this.list = [];
    this.picture = "";
    at("courses").addEventListener("toggle", () => at("courses").open && this.load());
    at("exercise").addEventListener("change", () => this.choose());
    at("handfiles").addEventListener("change", () => this.files([...at("handfiles").files]));
    at("handtext").addEventListener("click", () => this.written());
    at("handrun").addEventListener("click", () => this.handIn({ arm: this.arm() }));
    for (const kind of ["csv", "moodle", "canvas"]) at(kind).addEventListener("click", () => this.table(kind));
  }

  // Whether there are any is asked once, when somebody comes in: a lab without courses shows nothing of them.
  async enter() {
    try {
      await this.fetch();
    } catch {
      this.list = [];
    }
    at("courses").hidden = !this.list.length;
    this.open(sessionStorage.getItem("exercise"));
  }

  // Whoever comes from a course page of a learning system sees the exercise of its activity.
  open(wanted) {
    const index = this.list.findIndex(({ course, exercise }) => `${course.id}/${exercise.name}` === wanted);
    if (index < 0) return;
    at("exercise").value = String(index);
    at("courses").open = true;
  }

  async fetch() {
    const { courses } = await (await this.ask("courses")).json();
    this.list = courses.flatMap((course) => course.exercises.map((exercise) => ({ course, exercise })));
    const chosen = at("exercise").value;
    at("exercise").replaceChildren(...this.list.map(({ course, exercise }, index) =>
      new Option(`${course.title}: ${exercise.title}`, String(index), false, String(index) === chosen)));
  }

  get chosen() {
    return this.list[Number(at("exercise").value) || 0];
  }

  path({ course, exercise }, what) {
    return `courses/${encodeURIComponent(course.id)}/exercises/${encodeURIComponent(exercise.name)}/${what}`;
  }

  async load() {
    try {
      await this.fetch();
      await this.choose();
    } catch (refusal) {
      this.say(refusal);
    }
  }

  async choose() {
    this.forget();
    write(at("handanswer"), "");
    await this.refresh();
  }

  // What is to do, and what was handed in; the newest marks stay as they are.
  async refresh() {
    const chosen = this.chosen;
    if (!chosen) return;
    const { course, exercise } = chosen, teaches = course.role === "teacher";
    this.show(exercise, teaches);
    at("handing").hidden = teaches;
    at("students").hidden = !teaches;
    at("tables").hidden = !teaches;
    try {
      if (teaches) this.seeClass(await (await this.ask(`courses/${encodeURIComponent(course.id)}/class`)).json(), course);
      else this.listed(course, (await (await this.ask(this.path(chosen, "results"))).json()).results);
    } catch (refusal) {
      this.say(refusal);
    }
  }

  when(epoch) {
    return new Intl.DateTimeFormat(this.language(), { dateStyle: "short", timeStyle: "short" }).format(new Date(epoch * 1000));
  }

  show(exercise, teaches) {
    const until = exercise.closes_epoch_s == null ? "" : this.tell("course_until", this.when(exercise.closes_epoch_s));
    const tries = teaches ? "" : this.tell("course_tries", exercise.used, exercise.tries);
    write(at("aim"), exercise.aim);
    write(at("due"), [exercise.why_closed || until, tries].filter(Boolean).join(" · "));
    const numbers = exercise.numbers.map((one) => Object.entries(one).map(([name, value]) => `${name} = ${value}`).join(", "));
    const rows = exercise.rows.map(({ name, marks, ask }) => `${name}${ask ? `: ${ask}` : ""} (${marks})`);
    at("asked").replaceChildren(...numbers.map((words) => made("li", { class: "own", textContent: this.tell("course_numbers", words) })),
      ...rows.map((words) => made("li", { textContent: words, lang: "en" })));
    const runs = exercise.arms.includes(this.arm());
    at("handrun").hidden = !exercise.arms.length;
    at("handtext").hidden = exercise.kind !== "task" && exercise.kind !== "program";
    write(at("handrun"), this.tell("hand_run", this.arm()));
    this.allow(!exercise.why_closed, runs);
  }

  allow(open, runs) {
    enable(at("handrun"), open && runs);
    enable(at("handtext"), open);
    enable(at("handfiles"), open);
  }

  // -- handing in ----------------------------------------------------------------------------------------

  async files(files) {
    const { exercise } = this.chosen, given = {};
    if (!files.length) return;
    at("handfiles").value = "";
    if (files.reduce((sum, file) => sum + file.size, 0) > MOST_BYTES) {
      write(at("handanswer"), this.tell("hand_long"));
      return;
    }
    for (const file of files) given[nameOf(file.name, exercise.files, files.length === 1)] = base64(new Uint8Array(await file.arrayBuffer()));
    await this.handIn({ files: given });
  }

  async written() {
    const { exercise } = this.chosen, given = {};
    for (const [name, text] of this.text()) if (text) given[nameOf(name, exercise.files, true)] = base64(new TextEncoder().encode(text));
    if (Object.keys(given).length) await this.handIn({ files: given });
    else write(at("handanswer"), this.tell("hand_nothing"));
  }

  async handIn(what) {
    const chosen = this.chosen;
    this.forget();
    this.allow(false, false);
    write(at("handanswer"), this.tell("hand_marking"));
    try {
      const result = await (await this.ask(this.path(chosen, "hand-ins"), { method: "POST", body: { v: 1, ...what } })).json();
      write(at("handanswer"), "");
      await this.fetch();
      this.found(chosen.course, result);
    } catch (refusal) {
      write(at("handanswer"), refusal.message);
      this.say(refusal);
    }
    await this.refresh();
  }

  // -- what came of it -----------------------------------------------------------------------------------

  forget() {
    at("found").replaceChildren();
    at("shot").hidden = true;
    if (this.picture) URL.revokeObjectURL(this.picture);
    this.picture = "";
  }

  async found(course, { brief, marks, notes, picture }) {
    this.forget();
    const head = made("p", {}, made("strong", { textContent: this.tell("course_marks", brief.total, brief.most) }));
    const rows = brief.refusal ? [] : marks.map((row) => made("tr", { class: row.held < row.cases ? "bad" : "" },
      made("th", { scope: "row", textContent: `${row.held < row.cases ? "✗" : "✓"} ${row.name}` }),
      made("td", { textContent: `${Number(row.marks.toPrecision(3))} / ${row.most}` }),
      made("td", { textContent: foundOf(row, (sample, time) => this.tell("course_sample", sample, time)) })));
    const said = brief.refusal ? [made("p", { class: "bad", textContent: brief.refusal, lang: "en" })] : [];
    at("found").replaceChildren(head, ...said, made("table", { lang: "en" }, made("tbody", {}, ...rows)),
      made("ul", {}, ...notes.map((words) => made("li", { textContent: words, lang: "en" }))));
    if (!picture) return;
    try {
      const path = `courses/${encodeURIComponent(course.id)}/results/${brief.number}/picture`;
      this.picture = URL.createObjectURL(await (await this.ask(path)).blob());
      at("shot").src = this.picture;
      at("shot").hidden = false;
    } catch (refusal) {
      this.say(refusal);
    }
  }

  listed(course, results) {
    const lines = [...results].reverse().map((brief) => {
      const marks = brief.refusal ? this.tell("course_refused") : this.tell("course_marks", brief.total, brief.most);
      const words = `${this.when(brief.t_epoch_s)} ${brief.arm || this.tell("course_files")}: ${marks}${brief.counts ? ` ${this.tell("course_counts")}` : ""}`;
      const button = made("button", { type: "button", textContent: words });
      button.addEventListener("click", () => this.again(course, brief.number));
      return made("li", {}, button);
    });
    at("handed").replaceChildren(...(lines.length ? lines : [made("li", { textContent: this.tell("course_nothing") })]));
  }

  async again(course, number) {
    try {
      await this.found(course, await (await this.ask(`courses/${encodeURIComponent(course.id)}/results/${number}`)).json());
    } catch (refusal) {
      this.say(refusal);
    }
  }

  // -- teachers ------------------------------------------------------------------------------------------

  seeClass({ exercises, students }, course) {
    const head = made("tr", {}, made("th", { scope: "col", textContent: this.tell("course_student") }),
      ...exercises.map((name) => made("th", { scope: "col", textContent: name })));
    const rows = students.map(({ student, results }) => made("tr", {}, made("th", { scope: "row", textContent: student }),
      ...results.map((brief) => this.cell(course, brief))));
    at("students").replaceChildren(made("thead", {}, head), made("tbody", {}, ...rows));
  }

  cell(course, brief) {
    if (!brief) return made("td");
    const button = made("button", { type: "button", textContent: `${brief.total} / ${brief.most}` });
    button.addEventListener("click", () => this.again(course, brief.number));
    return made("td", {}, button);
  }

  async table(kind) {
    try {
      const table = await (await this.ask(this.path(this.chosen, "tables"), { method: "POST", body: { v: 1, kind } })).json();
      download(table.name, kind === "csv" ? `\ufeff${table.text}` : table.text, "text/csv");
      write(at("handanswer"), table.told.join(" "));
    } catch (refusal) {
      this.say(refusal);
    }
  }
}

function base64(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}
