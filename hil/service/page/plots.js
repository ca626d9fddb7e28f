// The worst error of twenty seconds, with its band where the lab says one. Drawn anew only if there is anything to see.
import { prepared } from "./wire_scene.js";

const SECONDS = 20;

export class ErrorPlot {
  constructor(canvas) {
    this.canvas = canvas;
    this.points = [];
    this.drawn = "";
  }

  forget() {
    this.points = [];
  }

  // found: the worst of all axes, or null.
  add(time, found) {
    const last = this.points[this.points.length - 1];
    if (last && time <= last.time) return;
    this.points.push({ time, ...found });
    while (this.points[0].time < time - SECONDS) this.points.shift();
  }

  // In shares of the band where there is one, else in degrees or millimetres.
  draw() {
    const banded = this.points.some((point) => point.used != null);
    const values = this.points.map((point) => (banded ? point.used : point.size) ?? null);
    const most = Math.max(...values.filter((value) => value !== null), 0);
    const top = Math.max(1.2, 1.1 * most);
    const still = values.every((value) => value === values[0] || (value !== null && values[0] !== null && Math.abs(value - values[0]) < 1e-3));
    const first = this.points.length ? this.points[0].time : 0, newest = this.points.length ? this.points[this.points.length - 1].time : 0;
    const look = `${Math.round(newest - first)} ${this.canvas.clientWidth} ${this.canvas.clientHeight} ${banded} ${still ? values[0] && values[0].toFixed(3) : ""}`;
    if (still && look === this.drawn) return;
    this.drawn = look;
    const { pen, width, height, colour } = prepared(this.canvas);
    const last = this.points.length ? this.points[this.points.length - 1].time : 0;
    const across = (time) => width - ((last - time) / SECONDS) * width, down = (value) => height - (value / top) * (height - 4);
    if (banded) {
      pen.fillStyle = colour("band");
      pen.fillRect(0, down(1), width, height - down(1));
      line(pen, [[0, down(1)], [width, down(1)]], colour("stop"), 1.5, [6, 4]);
    }
    line(pen, [[0, height - 0.5], [width, height - 0.5]], colour("line"), 1, []);
    let run = [];
    this.points.forEach((point, index) => {
      if (values[index] !== null) run.push([across(point.time), down(values[index])]);
      if (values[index] === null || index === values.length - 1) {
        line(pen, run, colour("reported"), 2, []);
        run = [];
      }
    });
  }
}

function line(pen, points, colour, thick, dash) {
  pen.beginPath();
  points.forEach(([x, y], index) => (index ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.strokeStyle = colour;
  pen.lineWidth = thick;
  pen.setLineDash(dash);
  pen.stroke();
}
