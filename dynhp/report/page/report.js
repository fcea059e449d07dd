"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const runs = data.runs;
if (!runs.length) return;
const saved = (history.state && history.state.dynhp) || {};
const state = { mode: "epochs", view: null, run: 0, gain: true, log: {}, hidden: {}, round: null, ...saved };
if (state.run >= runs.length) state.run = 0;
const charts = [];
// What is counted: epochs, or the steps of a loop over steps; both, where runs differ in it.
const unit = [...new Set(runs.map((run) => run.unit))].join(" or ");
const one = (words) => words.replace(/s\b/g, "");

// Small helpers. Text is only ever set as text, so no name on the page can be markup.
const el = (tag, props, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {}))
    name in node ? (node[name] = value) : node.setAttribute(name, value);
  node.append(...children.filter((each) => each !== null && each !== undefined));
  return node;
};
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const finite = (value) => typeof value === "number" && Number.isFinite(value);
const show = (value) => {
  if (typeof value !== "number") return value === null || value === undefined ? "not finite" : String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size < 1e-4 || size >= 1e7 ? value.toExponential(3).replace(/\.?0+e/, "e") : String(+value.toPrecision(5));
};
const nearest = (sorted, x) => {
  let low = 0, high = sorted.length - 1;
  while (high - low > 1) { const mid = (low + high) >> 1; sorted[mid] <= x ? (low = mid) : (high = mid); }
  return x - sorted[low] <= sorted[high] - x ? low : high;
};
const printing = () => document.documentElement.classList.contains("print");
const PRINTED = 700; // how wide a chart is drawn for paper, whose width is not known beforehand; it is scaled to it
const runColor = (place) => color(`c${place % 8}`);
const ramp = (share) => {
  const stops = [0, 1, 2, 3, 4].map((i) => color(`r${i}`));
  const at = Math.min(3.999, share * 4), i = Math.floor(at), f = at - i;
  const hex = (text, k) => parseInt(text.slice(1 + 2 * k, 3 + 2 * k), 16);
  return `rgb(${[0, 1, 2].map((k) => Math.round(hex(stops[i], k) * (1 - f) + hex(stops[i + 1], k) * f)).join()})`;
};

// What is derived of each run once: where its tries begin, and which rounds are on the main line.
for (const run of runs) {
  const r = run.rounds;
  run.count = (r.start || []).length;
  run.first = [];
  let offset = 0;
  for (let i = 0; i < run.count; i++) { run.first.push(offset); offset += r.shown[i]; }
  run.first.push(offset);
  run.tried = [...Array(run.count).keys()].filter((i) => r.shown[i]);
  run.line_ = [...Array(run.count).keys()].filter((i) => r.kept[i] > 0);
  run.starts = run.line_.map((i) => r.start[i]);
  run.order = run.candidates.map((_, i) => i).sort((a, b) => {
    const one = run.candidates[a], other = run.candidates[b];
    for (let k = 0; k < one.length; k++) if (one[k] !== other[k]) return one[k] < other[k] ? -1 : 1;
    return 0;
  });
  run.rank = [];
  run.order.forEach((number, place) => (run.rank[number] = place));
  run.end = run.count ? r.start[run.count - 1] + r.epochs[run.count - 1] : 0;
}
const values = (run, number) => run.axes.map((axis, k) => `${axis.name}=${show(run.candidates[number][k])}`).join(", ");
const roundTitle = (run, i) => `${runs.length > 1 ? `${run.name}: round` : "Round"} ${i}, ${run.unit} ${run.rounds.start[i]}–${run.rounds.start[i] + run.rounds.epochs[i]}`;
const roundAt = (run, epoch) => {
  let low = 0, high = run.starts.length - 1;
  while (low < high) { const mid = (low + high + 1) >> 1; run.starts[mid] < epoch ? (low = mid) : (high = mid - 1); }
  return run.line_[low] ?? 0;
};
const at = (run, epoch, round) => {
  if (state.mode === "epochs" || !run.count) return epoch;
  const i = round ?? roundAt(run, epoch), r = run.rounds;
  return r.before[i] + (epoch > r.start[i] ? r.overhead[i] : 0) + (epoch - r.start[i]);
};

// One chart: two canvases, so that pointing at it draws no point again.
const tip = el("div", { id: "tip", hidden: true });
const spoken = el("div", { className: "read", "aria-live": "polite" });
document.body.append(tip, spoken);

class Chart {
  constructor(host, spec) {
    this.spec = spec;
    this.area = el("div", { className: "area", style: `height:${spec.height}px` });
    this.base = el("canvas", { "aria-hidden": "true" });
    this.over = el("canvas", { className: "over", tabIndex: 0, role: "img" });
    this.area.append(this.base, this.over);
    this.top = el("div", { className: "top" });
    this.note = el("p", { className: "note" });
    this.box = el("div", { className: "chart" }, this.top, this.area, this.note);
    host.append(this.box);
    this.stop = null;
    this.visible = false;
    charts.push(this);
    this.build();
    this.listen();
    new IntersectionObserver((seen) => {
      this.visible = seen[seen.length - 1].isIntersecting;
      if (this.visible && this.dirty) this.draw();
    }, { rootMargin: "300px" }).observe(this.area);
    new ResizeObserver(() => this.later()).observe(this.area);
  }
  build() {
    Object.assign(this, { title: "", whole: false, trim: 0.02, series: [], words: null, log: false, marks: [], stops: [], canLog: false, notes: [] }, this.spec.build());
    this.legend();
    this.later();
  }
  later() { this.dirty = true; if (this.visible && !printing()) this.draw(); }
  isHidden(key) { return Boolean(state.hidden[`${this.spec.id}:${key}`]); }
  legend() {
    this.top.replaceChildren(el("b", { textContent: this.title }));
    const keys = new Map();
    for (const each of this.series) if (each.key) keys.set(each.key, each);
    if (keys.size > 1)
      for (const [key, each] of keys) {
        const chip = el("i"); chip.style.background = each.color;
        const button = el("button", { className: "key", type: "button", "aria-pressed": String(!this.isHidden(key)) }, chip, each.name);
        button.onclick = () => {
          state.hidden[`${this.spec.id}:${key}`] = !this.isHidden(key);
          button.setAttribute("aria-pressed", String(!this.isHidden(key)));
          this.later(); remember();
        };
        this.top.append(button);
      }
    this.top.append(el("span", { className: "gap" }));
    for (const tool of this.tools || []) this.top.append(tool);
    if (this.canLog) {
      const button = el("button", { type: "button", textContent: "log", "aria-pressed": String(this.log) });
      button.onclick = () => { state.log[this.spec.id] = !this.log; this.build(); remember(); };
      this.top.append(button);
    }
    this.over.setAttribute("aria-label", `${this.title}: arrow keys go through it, + and - zoom, Escape goes back`);
  }
  shown() { return this.series.filter((each) => !each.key || !this.isHidden(each.key)); }
  extent() {
    let low = Infinity, high = -Infinity;
    for (const chart of charts) if (chart.span) { low = Math.min(low, chart.span[0]); high = Math.max(high, chart.span[1]); }
    return high > low ? [low, high] : [low === Infinity ? 0 : low - 0.5, low === Infinity ? 1 : low + 0.5];
  }
  ranges() {
    const [x0, x1] = state.view || this.extent();
    let main = [], more = [];
    const pick = (xs, ys, into) => { for (let i = 0; i < xs.length; i++) if (xs[i] >= x0 && xs[i] <= x1 && finite(ys[i]) && (!this.log || ys[i] > 0)) into.push(ys[i]); };
    for (const each of this.shown()) {
      if (each.kind === "paths") for (const path of each.paths) pick(path[0], path[1], more);
      else if (each.kind === "band") { main.push(each.low, each.high); }
      else if (each.kind === "steps") {
        pick(each.xs, each.ys, main);
        let before = null; // the value that was in force where the picture begins
        for (let i = 0; i < each.xs.length && each.xs[i] < x0; i++) before = each.ys[i];
        if (finite(before)) main.push(before);
      } else pick(each.xs, each.ys, each.faint ? more : main);
    }
    let [low, high] = this.whole ? bounds(main) : robust(main, this.log, this.trim);
    if (more.length) {
      const [l, h] = robust(more, this.log, 0.05), room = main.length ? (this.log ? 3 : 2 * (high - low)) : Infinity;
      if (!main.length) [low, high] = [l, h];
      else if (this.log) { low = Math.min(low, Math.max(l, low / room)); high = Math.max(high, Math.min(h, high * room)); }
      else { low = Math.min(low, Math.max(l, low - room)); high = Math.max(high, Math.min(h, high + room)); }
    }
    if (this.words) [low, high] = [-0.5, this.words.length - 0.5];
    else if (this.log) { const pad = Math.pow(high / low, 0.06) || 1.1; low /= pad; high *= pad; if (!(high > low)) { low /= 1.5; high *= 1.5; } }
    else { const pad = (high - low) * 0.07 || Math.abs(high) * 0.05 || 0.5; low -= pad; high += pad; }
    this.x = [x0, x1]; this.y = [low, high];
  }
  px(x) { return this.left + ((x - this.x[0]) / (this.x[1] - this.x[0])) * (this.width - this.left - this.right); }
  py(y) {
    const [low, high] = this.y, share = this.log ? Math.log(y / low) / Math.log(high / low) : (y - low) / (high - low);
    return this.foot - Math.max(-0.012, Math.min(1.012, share)) * (this.foot - this.head);
  }
  outside(y) { return y < this.y[0] || y > this.y[1]; }
  unpx(px) { return this.x[0] + ((px - this.left) / (this.width - this.left - this.right)) * (this.x[1] - this.x[0]); }
  context(canvas) {
    const ratio = printing() ? 2 : window.devicePixelRatio || 1, box = this.area.getBoundingClientRect();
    this.width = printing() ? PRINTED : box.width; this.height = this.spec.height;
    canvas.width = Math.round(this.width * ratio); canvas.height = Math.round(this.height * ratio);
    const c = canvas.getContext("2d");
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.font = "11.5px system-ui, sans-serif";
    return c;
  }
  draw() {
    this.dirty = false;
    const c = this.context(this.base);
    if (!this.width) return;
    this.head = 8; this.foot = this.height - 24; this.right = 10;
    this.ranges();
    const ink = color("dim"), grid = color("line");
    const rows = this.words ? this.words.map((word, place) => [place, word]) : ticks(this.y, this.log);
    this.left = Math.min(0.34 * this.width, 14 + Math.max(36, ...rows.map(([, text]) => c.measureText(text).width)));
    c.fillStyle = ink; c.strokeStyle = grid; c.lineWidth = 1; c.textBaseline = "middle"; c.textAlign = "right";
    for (const [y, text] of rows) {
      const line = Math.round(this.py(y)) + 0.5;
      c.beginPath(); c.moveTo(this.left, line); c.lineTo(this.width - this.right, line); c.stroke();
      c.fillText(text, this.left - 8, line, this.left - 10);
    }
    c.textBaseline = "alphabetic"; c.textAlign = "center";
    const across = ticks(this.x, false, Math.max(3, Math.floor(this.width / 110)));
    const word = state.mode === "epochs" ? unit : `${unit} trained in all`;
    const room = this.width - this.right - c.measureText(word).width - 14;
    for (const [x, text] of across) if (this.px(x) < room) c.fillText(text, this.px(x), this.height - 6);
    c.textAlign = "right"; c.fillText(word, this.width - this.right, this.height - 6);
    c.save();
    c.beginPath(); c.rect(this.left - 7, 0, this.width - this.left - this.right + 14, this.foot + 7); c.clip();
    for (const mark of this.marks) this.mark(c, mark);
    let cut = 0;
    for (const each of this.shown()) cut += this.paint(c, each) || 0;
    c.restore();
    const notes = [...this.notes, ...(cut ? [`${cut} values outside the picture are drawn at its edge`] : [])];
    this.note.textContent = notes.length ? `${notes.join("; ")}.` : "";
    if (!printing()) this.point();
  }
  mark(c, { from, to, kind }) {
    const left = this.px(from), right = this.px(to ?? from);
    c.fillStyle = c.strokeStyle = color("alarm");
    if (kind === "abandoned") { c.globalAlpha = 0.09; c.fillRect(left, this.head, Math.max(2, right - left), this.foot - this.head); }
    else { c.globalAlpha = 0.8; c.setLineDash([3, 3]); c.beginPath(); c.moveTo(left, this.head); c.lineTo(left, this.foot); c.stroke(); c.setLineDash([]); }
    c.globalAlpha = 1;
  }
  paint(c, each) {
    let cut = 0;
    c.globalAlpha = each.alpha ?? 1; c.strokeStyle = c.fillStyle = each.color; c.lineWidth = each.width || 2; c.lineJoin = "round";
    c.setLineDash(each.dash || []);
    if (each.kind === "band") {
      const top = this.py(each.high); c.fillRect(this.left, top, this.width, this.py(each.low) - top);
    } else if (each.kind === "paths") {
      c.beginPath();
      for (const [xs, ys] of each.paths) {
        if (xs[xs.length - 1] < this.x[0] || xs[0] > this.x[1]) continue;
        let pen = false;
        if (xs.length === 1 && finite(ys[0])) { const x = this.px(xs[0]), y = this.py(ys[0]); c.moveTo(x - 1.5, y); c.lineTo(x + 1.5, y); continue; }
        for (let i = 0; i < xs.length; i++) {
          if (!finite(ys[i])) { pen = false; continue; }
          pen ? c.lineTo(this.px(xs[i]), this.py(ys[i])) : c.moveTo(this.px(xs[i]), this.py(ys[i])); pen = true;
        }
      }
      c.stroke();
    } else if (each.kind === "dots") {
      const size = each.size || 3, many = each.xs.length > 4000;
      for (let i = 0; i < each.xs.length; i++) {
        if (!finite(each.ys[i]) || each.xs[i] < this.x[0] || each.xs[i] > this.x[1]) continue;
        const x = this.px(each.xs[i]), y = this.py(each.ys[i]), out = !this.words && this.outside(each.ys[i]);
        cut += out;
        if (out) { const up = each.ys[i] > this.y[1] ? 1 : -1; c.beginPath(); c.moveTo(x - 3, y + up * 4); c.lineTo(x + 3, y + up * 4); c.lineTo(x, y); c.fill(); }
        else if (many) c.fillRect(x - size / 2, y - size / 2, size, size);
        else { c.beginPath(); c.arc(x, y, size, 0, 7); each.ring ? c.stroke() : c.fill(); }
      }
    } else {
      c.beginPath();
      let before = null;
      for (let i = 0; i < each.xs.length; i++) {
        if (!finite(each.ys[i])) { before = null; continue; }
        if (this.log && each.ys[i] <= 0) { cut += 1; before = null; continue; }
        if (each.xs[i] >= this.x[0] && each.xs[i] <= this.x[1] && !this.words && this.outside(each.ys[i])) cut += 1;
        const x = this.px(each.xs[i]), y = this.py(each.ys[i]);
        if (before === null) c.moveTo(x, y);
        else { if (each.kind === "steps") c.lineTo(x, before); c.lineTo(x, y); }
        before = y;
      }
      if (each.kind === "steps" && before !== null) c.lineTo(this.px(each.until), before);
      c.stroke();
      if (each.kind === "line" && each.xs.length < 80 && !each.dash)
        for (let i = 0; i < each.xs.length; i++) if (finite(each.ys[i]) && !(this.log && each.ys[i] <= 0)) { c.beginPath(); c.arc(this.px(each.xs[i]), this.py(each.ys[i]), 2.2, 0, 7); c.fill(); }
    }
    c.setLineDash([]); c.globalAlpha = 1;
    return cut;
  }
  // What is pointed at: a line in every chart, a mark and words in this one.
  point() {
    const c = this.context(this.over);
    if (pointed.x !== null && this.x && pointed.x >= this.x[0] && pointed.x <= this.x[1]) {
      c.strokeStyle = color("dim"); c.globalAlpha = 0.55; c.beginPath();
      const x = Math.round(this.px(pointed.x)) + 0.5;
      c.moveTo(x, this.head); c.lineTo(x, this.foot); c.stroke(); c.globalAlpha = 1;
    }
    if (pointed.chart === this && pointed.y !== null && finite(pointed.y)) {
      c.strokeStyle = color("ink"); c.lineWidth = 2; c.beginPath();
      c.arc(this.px(pointed.x), this.py(pointed.y), 6, 0, 7); c.stroke();
    }
    if (this.drag) {
      const [from, to] = this.drag; c.fillStyle = color("accent"); c.globalAlpha = 0.15;
      c.fillRect(Math.min(from, to), this.head, Math.abs(to - from), this.foot - this.head);
    }
  }
  go(stop, y, near) {
    if (!this.x) this.draw(); // the focus may be faster than the eye
    if (!this.x || !this.stops.length) return;
    this.stop = Math.max(0, Math.min(this.stops.length - 1, stop));
    const said = this.spec.tip(this, this.stop, y);
    pointed.chart = this; pointed.x = this.stops[this.stop]; pointed.y = said.y ?? null;
    tip.replaceChildren(el("b", { textContent: said.title }), ...said.rows.map(([shade, text]) => {
      const chip = el("i"); chip.style.background = shade || "transparent";
      return el("span", {}, shade ? chip : null, text);
    }));
    spoken.textContent = near ? "" : [said.title, ...said.rows.map(([, text]) => text)].join(". ");
    tip.hidden = false;
    const box = this.area.getBoundingClientRect();
    const x = near ? near[0] : box.left + this.px(pointed.x), top = near ? near[1] : box.top + 20;
    const wide = tip.offsetWidth, tall = tip.offsetHeight;
    tip.style.left = `${Math.max(6, Math.min(innerWidth - wide - 6, x + 18 + wide > innerWidth ? x - wide - 18 : x + 18))}px`;
    tip.style.top = `${Math.max(6, Math.min(innerHeight - tall - 6, top + 14))}px`;
    for (const chart of charts) if (chart.visible && chart.x) chart.point();
  }
  listen() {
    const place = (event) => { const box = this.area.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    this.over.addEventListener("pointermove", (event) => {
      if (!this.x || !this.stops.length) return;
      const [x, y] = place(event);
      if (this.drag) this.drag[1] = x;
      this.go(nearest(this.stops, this.unpx(x)), y, [event.clientX, event.clientY]);
    });
    // A finger leaves when it is lifted: what it has shown stays until it touches something else.
    this.over.addEventListener("pointerleave", (event) => { if (!this.drag && event.pointerType !== "touch") hide(); });
    this.over.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || event.button) return;
      const [x] = place(event); this.drag = [x, x]; this.over.setPointerCapture(event.pointerId);
    });
    this.over.addEventListener("pointerup", (event) => {
      const drag = this.drag; this.drag = null;
      if (event.pointerType === "touch" && this.x && this.stops.length) {
        const [x, y] = place(event);
        this.go(nearest(this.stops, this.unpx(x)), y, [event.clientX, event.clientY]);
      }
      if (drag && Math.abs(drag[0] - drag[1]) > 6) {
        const [a, b] = drag.map((x) => Math.max(this.x[0], Math.min(this.x[1], this.unpx(x)))).sort((p, q) => p - q);
        if (b > a) zoom([a, b]);
      } else if (this.spec.choose && this.stop !== null) this.spec.choose(this.stop);
    });
    this.over.addEventListener("pointercancel", () => { this.drag = null; hide(); });
    this.over.addEventListener("dblclick", () => zoom(null));
    this.over.addEventListener("wheel", (event) => {
      if (!(event.ctrlKey || event.metaKey || event.shiftKey)) return;
      event.preventDefault();
      const [x] = place(event);
      this.scale(Math.pow(1.0016, event.deltaY || event.deltaX), this.unpx(x));
    }, { passive: false });
    this.over.addEventListener("focus", () => { if (pointed.chart !== this && this.over.matches(":focus-visible")) this.go(this.stop ?? this.firstSeen()); });
    this.over.addEventListener("blur", () => { if (pointed.chart === this) hide(); }); // not what another chart shows by now
    this.over.addEventListener("keydown", (event) => {
      const key = event.key, stop = this.stop ?? this.firstSeen();
      if (key === "ArrowRight" || key === "ArrowLeft") this.go(stop + (key === "ArrowRight" ? 1 : -1) * (event.shiftKey ? 10 : 1));
      else if (key === "Home") this.go(0);
      else if (key === "End") this.go(this.stops.length - 1);
      else if ((key === "ArrowUp" || key === "ArrowDown") && this.spec.turn) { this.spec.turn(key === "ArrowUp" ? 1 : -1, stop); this.go(stop); }
      else if (key === "+" || key === "-") this.scale(key === "+" ? 0.6 : 1 / 0.6, this.stops[stop]);
      else if (key === "Enter" && this.spec.choose) this.spec.choose(stop);
      else if (key === "Escape") { if (tip.hidden) zoom(null); hide(); }
      else return;
      event.preventDefault();
    });
  }
  firstSeen() { const [x0] = state.view || [-Infinity]; return Math.max(0, this.stops.findIndex((x) => x >= x0)); }
  scale(factor, about) {
    const [low, high] = this.extent(), [x0, x1] = state.view || [low, high];
    const a = Math.max(low, about - (about - x0) * factor), b = Math.min(high, about + (x1 - about) * factor);
    if (b - a >= high - low - 1e-9) zoom(null); else if (b - a > (high - low) * 1e-5) zoom([a, b]);
  }
}
const pointed = { chart: null, x: null, y: null };
const hide = () => {
  pointed.chart = null; pointed.x = pointed.y = null; tip.hidden = true;
  for (const chart of charts) if (chart.visible && chart.x) chart.point();
};
addEventListener("pointerdown", (event) => { if (event.pointerType === "touch" && !event.target.closest("canvas.over")) hide(); });
const zoom = (view) => { state.view = view; for (const chart of charts) chart.later(); bar(); remember(); };
const rebuild = () => { for (const chart of charts) chart.build(); bar(); remember(); };

// A range that a few wild values do not decide: those are drawn at the edge, and counted.
const bounds = (numbers) => numbers.reduce(([low, high], each) => [Math.min(low, each), Math.max(high, each)], numbers.length ? [Infinity, -Infinity] : [0, 1]);
function robust(numbers, log, trim = 0.02) {
  if (!numbers.length) return log ? [1, 10] : [0, 1];
  const sorted = Float64Array.from(numbers).sort(), n = sorted.length;
  const q = (share) => sorted[Math.min(n - 1, Math.max(0, Math.round(share * (n - 1))))];
  const [low, high, l, h] = [sorted[0], sorted[n - 1], q(trim), q(1 - trim)];
  if (n < 12) return [low, high];
  const wide = log ? Math.log(high / low) > 3 * Math.log(h / l) : high - low > 4 * (h - l);
  if (!wide || !(h > l)) return [low, high];
  const pad = 0.25 * (h - l);
  return log ? [Math.max(low, l / 1.5), Math.min(high, h * 1.5)] : [Math.max(low, l - pad), Math.min(high, h + pad)];
}
function ticks([low, high], log, count = 4) {
  if (log) {
    const found = [], first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
    const each = last - first > 8 ? Math.ceil((last - first) / 6) : 1;
    for (const parts of [[1], [1, 3], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]]) {
      found.length = 0;
      for (let power = first; power <= last; power += each)
        for (const part of parts) { const y = +(part * Math.pow(10, power)).toPrecision(6); if (y >= low && y <= high) found.push([y, show(y)]); }
      if (found.length >= 3) break;
    }
    return found;
  }
  const raw = (high - low) / count, size = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * size).find((each) => each >= raw) || raw;
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++) found.push([i * step, show(+(i * step).toPrecision(12))]);
  return found;
}

const remember = () => { history.replaceState({ dynhp: { ...state, scroll: scrollY } }, ""); };

// The schedule: the values in force, what was tried, what was left behind.
const axisNames = [...new Set(runs.flatMap((run) => run.axes.map((axis) => axis.name)))];
axisNames.forEach((name, place) => new Chart(document.querySelector("#schedule .charts"), {
  id: `schedule:${name}`, height: 170, build() { return schedule(name, place); },
  tip(chart, stop) { return schedulePoint(name, chart.stops[stop]); },
}));
function schedule(name, place) {
  const having = runs.filter((run) => run.axes.some((axis) => axis.name === name));
  const axes = having.map((run) => run.axes.find((axis) => axis.name === name));
  const words = axes.some((axis) => axis.words) ? [...new Set(axes.flatMap((axis) => axis.words || []))].sort() : null;
  const id = `schedule:${name}`, canLog = !words && having.every((run) => run.candidates.every((each) => each[run.axes.findIndex((a) => a.name === name)] > 0));
  const log = canLog && (state.log[id] ?? axes.some((axis) => axis.log));
  const series = [], marks = [], stops = new Set();
  let span = [Infinity, -Infinity];
  const pythonic = (value) => (value === true ? "True" : value === false ? "False" : value === null ? "None" : String(value));
  for (const run of having) {
    const k = run.axes.findIndex((axis) => axis.name === name), r = run.rounds, which = runs.indexOf(run);
    const height = (number) => (words ? words.indexOf(pythonic(run.candidates[number][k])) : run.candidates[number][k]);
    const xs = [], ys = [], dots = [[], []], left = [];
    let until = 0;
    for (let i = 0; i < run.count; i++) {
      const x = at(run, r.start[i], i);
      if (r.kept[i] > 0) { xs.push(x); ys.push(height(r.candidate[i])); stops.add(x); }
      if (r.kept[i] < r.epochs[i]) {
        left.push([[at(run, r.start[i] + r.kept[i], i), at(run, r.start[i] + r.epochs[i], i)], [height(r.candidate[i]), height(r.candidate[i])]]);
        if (state.mode === "epochs") marks.push({ from: r.start[i] + r.kept[i], to: r.start[i] + r.epochs[i], kind: "abandoned" });
      }
      if (r.rescue[i]) marks.push({ from: x, kind: "rescue" });
      const seen = new Set();
      for (let t = run.first[i]; t < run.first[i + 1]; t++) seen.add(height(run.tries.candidate[t]));
      for (const y of seen) { dots[0].push(x); dots[1].push(y); }
      until = Math.max(until, at(run, r.start[i] + r.epochs[i], i));
      span = [Math.min(span[0], x), Math.max(span[1], until)];
    }
    const shade = runs.length > 1 ? runColor(which) : color(`c${place % 8}`), key = `run${which}`;
    if (runs.length === 1) series.push({ key: "tried", name: "tried", kind: "dots", xs: dots[0], ys: dots[1], color: color("try"), alpha: 0.85, size: run.first[run.count] > 4000 ? 2 : 2.6 });
    series.push({ key, name: runs.length > 1 ? run.name : "in force", kind: "steps", xs, ys, until, color: shade, width: xs.length > 1000 ? 1 : 2.5 });
    if (left.length) series.push({ key: "left", name: "left behind", kind: "paths", paths: left, color: color("alarm"), width: 1.5, dash: [4, 3] });
  }
  return { title: name, whole: true, series, words, log, canLog, marks, span, stops: [...stops].sort((a, b) => a - b), notes: marked(marks) };
}
function marked(marks) {
  const words = [["rescue", "a dashed line is a rescue"], ["abandoned", `shaded ${unit} were trained and left behind`]];
  return words.filter(([kind]) => marks.some((mark) => mark.kind === kind)).map(([, text]) => text);
}
function schedulePoint(name, x) {
  const rows = [];
  let y = null;
  for (const run of runs) {
    const k = run.axes.findIndex((axis) => axis.name === name), i = roundNear(run, x);
    if (k < 0 || i === null) continue;
    const value = run.candidates[run.rounds.candidate[i]][k];
    if (runs.length === 1) y = typeof value === "number" && !run.axes[k].words ? value : null;
    rows.push([runColor(runs.indexOf(run)), `${runs.length > 1 ? `${run.name}: ` : ""}${show(value)}`]);
    if (runs.length === 1) rows.push([null, run.rounds.reason[i]]);
  }
  return { title: `${name} from ${state.mode === "epochs" ? one(unit) : "cost"} ${show(x)} on`, rows, y };
}
function roundNear(run, x) {
  if (!run.line_.length) return null;
  const xs = (run.xs_ && run.xs_.mode === state.mode) ? run.xs_ : (run.xs_ = run.line_.map((i) => at(run, run.rounds.start[i], i)));
  xs.mode = state.mode;
  let i = nearest(xs, x);
  if (xs[i] > x && i) i -= 1;
  return run.line_[i];
}

// Where then= made another value of the best one, the main line went on with that.
const TAKEN = "taken: the best, corrected by then=";
const bestOf = (run, i) => run.tries.candidate[run.first[i] + run.rounds.chosen[i]];
const corrected = (run, i) => run.rounds.shown[i] > 0 && run.rounds.candidate[i] !== bestOf(run, i);

// The tries: every score of every round, by how far it is above the value in force.
let turned = 0;
const triesChart = runs.some((run) => run.tried.length) ? new Chart(document.querySelector("#tries .charts"), {
  id: "tries", height: 280, build: tries,
  tip(chart, stop, py) {
    const run = runs[state.run], i = run.tried[stop], r = run.rounds, ys = chart.heights[stop];
    let best = null;
    if (py !== undefined) ys.forEach((y, k) => { if (finite(y) && (best === null || Math.abs(chart.py(y) - py) < Math.abs(chart.py(ys[best]) - py))) best = k; });
    else best = ((turned % ys.length) + ys.length) % ys.length;
    const rows = [];
    if (best !== null) {
      const t = run.first[i] + best, error = run.errors[t];
      rows.push([chart.shade(run.tries.candidate[t]), `${values(run, run.tries.candidate[t])}${best === r.chosen[i] ? (corrected(run, i) ? " (best)" : " (kept)") : ""}`]);
      rows.push([null, error ? `failed: ${error}` : `score ${show(run.tries.score[t])}`]);
    }
    rows.push([null, corrected(run, i) ? `took ${values(run, r.candidate[i])}, made of ${values(run, bestOf(run, i))} by then=` : `kept ${values(run, r.candidate[i])}`], [null, `margin ${show(r.margin[i] ?? "–")}, spread ${show(r.spread[i] ?? "–")}`]);
    return { title: roundTitle(run, i), rows, y: best === null ? null : ys[best] };
  },
  turn(by) { turned += by; },
  choose(stop) { choose(runs[state.run].tried[stop]); },
}) : null;
if (!triesChart) document.querySelector("#tries .charts").append(el("p", { className: "note", textContent: "Nothing was tried." }));
function tries() {
  const run = runs[state.run], r = run.rounds, heights = [], stops = [], groups = new Map(), kept = [[], []];
  const many = run.candidates.length > 12;
  const shade = (number) => ramp(run.candidates.length > 1 ? run.rank[number] / (run.candidates.length - 1) : 0.3);
  let failed = 0;
  for (const i of run.tried) {
    const x = at(run, r.start[i], i), ys = [];
    let base = null;
    const scores = run.tries.score.slice(run.first[i], run.first[i + 1]);
    if (state.gain) {
      for (let k = 0; k < scores.length && base === null; k++)
        if (run.tries.candidate[run.first[i] + k] === r.previous[i] && !run.errors[run.first[i] + k]) base = scores[k];
      const known = scores.filter(finite);
      if (!finite(base)) base = known.length ? known.reduce((a, b) => a + b, 0) / known.length : 0;
    }
    for (let k = 0; k < scores.length; k++) {
      const t = run.first[i] + k, number = run.tries.candidate[t];
      const y = finite(scores[k]) && !run.errors[t] ? scores[k] - (base || 0) : null;
      failed += y === null;
      ys.push(y);
      const group = many ? Math.floor((8.999 * run.rank[number]) / run.candidates.length) : run.rank[number];
      if (!groups.has(group)) groups.set(group, { number, xs: [], ys: [] });
      groups.get(group).xs.push(x); groups.get(group).ys.push(y);
      if (k === r.chosen[i]) { kept[0].push(x); kept[1].push(y); }
    }
    heights.push(ys); stops.push(x);
  }
  const dense = run.tries.score.length > 6000 ? 2.2 : run.tried.length > 150 ? 2.4 : 4, series = [];
  if (state.gain && run.noise) series.push({ key: "noise", name: "noise of a difference", kind: "band", low: -run.noise, high: run.noise, color: color("try"), alpha: 0.22 });
  for (const [group, each] of [...groups].sort((a, b) => a[0] - b[0]))
    series.push({ key: many ? "tried" : `g${group}`, name: many ? `${run.candidates.length} candidates, coloured by value` : values(run, each.number), kind: "dots", xs: each.xs, ys: each.ys, color: shade(each.number), size: dense, alpha: run.tries.score.length > 6000 ? 0.5 : 0.85 });
  series.push({ key: "kept", name: "kept", kind: "dots", ring: run.tried.length <= 600, xs: kept[0], ys: kept[1], color: color("ink"), size: run.tried.length > 600 ? 1.4 : run.tried.length > 150 ? 3.4 : 5.6, width: 1.3 });
  const pick = el("button", { type: "button", textContent: state.gain ? "show scores" : "show gains" });
  pick.onclick = () => { state.gain = !state.gain; triesChart.build(); remember(); };
  const title = `${runs.length > 1 ? `${run.name}: ` : ""}${state.gain ? "score above the value in force" : "score, higher is better"}`;
  const notes = [...(failed ? [`${failed === 1 ? "1 try has" : `${failed} tries have`} no finite score and ${failed === 1 ? "is" : "are"} not drawn`] : []), ...run.notes.filter((note) => note.includes("tries of a round"))];
  const end = run.end ? at(run, run.end) : 1;
  return { title, trim: state.gain ? 0.1 : 0.02, series, heights, stops, shade, tools: [pick], notes, span: [Math.min(0, ...stops.slice(0, 1)), end] };
}

// One round, try by try.
const round = document.getElementById("round");
function choose(i) { state.round = i; inspect(); remember(); }
function inspect() {
  const run = runs[state.run], r = run.rounds;
  if (!run.tried.length) { round.replaceChildren(); return; }
  const i = state.round !== null && r.shown[state.round] ? state.round : run.tried[run.tried.length - 1];
  const place = run.tried.indexOf(i), scores = run.tries.score.slice(run.first[i], run.first[i + 1]);
  const known = scores.filter(finite), low = Math.min(...known), high = Math.max(...known), other = corrected(run, i);
  const rows = scores.slice(0, 60).map((score, k) => {
    const t = run.first[i] + k, error = run.errors[t], number = run.tries.candidate[t];
    const line = el("i", { className: "bar" });
    line.style.width = finite(score) && !error ? `${high > low ? 8 + (92 * (score - low)) / (high - low) : 100}%` : "0";
    const remarks = [k === r.chosen[i] ? (other ? "best" : "kept") : "", other && number === r.candidate[i] ? TAKEN : "", number === r.previous[i] ? "in force before" : "", error ? `failed: ${error}` : ""].filter(Boolean).join(", ");
    return el("tr", { className: k === r.chosen[i] || (other && number === r.candidate[i]) ? "chosen" : "" }, el("td", { textContent: values(run, number) }), el("td", { textContent: error ? "–" : show(score) }), el("td", {}, el("span", { className: "meter" }, line)), el("td", { textContent: String(run.tries.epochs[t]) }), el("td", { textContent: remarks, className: remarks ? "words" : "" }));
  });
  const tried = scores.slice(0, 60).some((_, k) => run.tries.candidate[run.first[i] + k] === r.candidate[i]);
  const made = other && !tried ? [el("tr", { className: "chosen" }, ...[values(run, r.candidate[i]), "–", "", "–", `${TAKEN}, not tried`].map((text, k) => el("td", { textContent: text, className: k === 4 ? "words" : "" })))] : [];
  const step = (by, text) => { const button = el("button", { type: "button", textContent: text, disabled: !(place + by in run.tried) }); button.onclick = () => choose(run.tried[place + by]); return button; };
  const back = r.abandoned[i] ? ` It went back by ${r.abandoned[i]} ${run.unit}${r.rescue[i] ? ", a rescue" : ""}.` : "";
  round.replaceChildren(
    el("div", { className: "pager" }, step(-1, "← before"), step(1, "next →"), el("b", { textContent: roundTitle(run, i) })),
    el("p", { textContent: `${r.reason[i]}. Margin ${show(r.margin[i] ?? "–")}, spread ${show(r.spread[i] ?? "–")}.${back}` }),
    el("div", { className: "wide" }, el("table", {}, el("thead", {}, el("tr", {}, ...["values", "score", "", run.unit, ""].map((text) => el("th", { textContent: text })))), el("tbody", {}, ...rows, ...made))),
    ...(r.tried[i] > rows.length ? [el("p", { className: "note", textContent: `${r.tried[i] - rows.length} tries more.` })] : []));
}

// The main line, with the tries faintly behind.
const metrics = [...new Set(runs.flatMap((run) => Object.keys(run.line)))];
for (const name of metrics) new Chart(document.querySelector("#metrics .charts"), {
  id: `metric:${name}`, height: 210, build() { return metric(name); },
  tip(chart, stop) {
    const x = chart.stops[stop], rows = [];
    let y = null;
    for (const each of chart.series) if (each.kind === "line" && each.xs.length) {
      const i = nearest(each.xs, x);
      if (runs.length === 1) y = each.ys[i];
      rows.push([each.color, `${runs.length > 1 ? `${each.name}: ` : ""}${show(each.ys[i])}${each.xs[i] === x ? "" : ` (at ${show(each.xs[i])})`}`]);
    }
    if (runs.length === 1 && runs[0].count) rows.push([null, values(runs[0], runs[0].rounds.candidate[roundNear(runs[0], state.mode === "epochs" ? x - 0.5 : x)])]);
    return { title: `${name}, ${state.mode === "epochs" ? one(unit) : "cost"} ${show(x)}`, rows, y };
  },
});
function metric(name) {
  const series = [], all = [], stops = new Set(), marks = [];
  let span = null;
  runs.forEach((run, which) => {
    if (!run.line[name]) return;
    const [epochs, ys] = run.line[name], xs = epochs.map((epoch) => at(run, epoch));
    for (const y of ys) if (finite(y)) all.push(y);
    xs.forEach((x) => stops.add(x));
    const [origins, paths] = run.behind[name] || [[], []], faint = [], left = [];
    if (which === state.run) paths.forEach(([on, values], k) => {
      const origin = origins[k], round_ = origin === null ? null : roundAt(run, origin + 1);
      const shifted = on.map((epoch) => (state.mode === "epochs" ? epoch : origin === null ? at(run, epoch) : run.rounds.before[round_] + epoch - origin));
      (origin === null ? left : faint).push([shifted, values]);
    });
    if (runs.length === 1) for (let i = 0; i < run.count; i++) {
      if (run.rounds.kept[i] < run.rounds.epochs[i] && state.mode === "epochs") marks.push({ from: run.rounds.start[i] + run.rounds.kept[i], to: run.rounds.start[i] + run.rounds.epochs[i], kind: "abandoned" });
      if (run.rounds.rescue[i]) marks.push({ from: at(run, run.rounds.start[i], i), kind: "rescue" });
    }
    if (faint.length) series.push({ key: "behind", name: runs.length > 1 ? `tries of ${run.name}` : "tries", kind: "paths", paths: faint, color: color("try"), width: 1.2, alpha: 0.5 });
    if (left.length) series.push({ key: "left", name: "left behind", kind: "paths", paths: left, color: color("alarm"), width: 1.4, alpha: 0.8, dash: [4, 3] });
    series.push({ key: `run${which}`, name: runs.length > 1 ? run.name : "main line", kind: "line", xs, ys, color: runColor(which), width: xs.length > 2000 ? 1.2 : 2 });
    if (xs.length) span = [Math.min(span ? span[0] : Infinity, 0), Math.max(span ? span[1] : -Infinity, xs[xs.length - 1])];
  });
  const low = Math.min(...robust(all)), high = Math.max(...robust(all)), id = `metric:${name}`;
  const canLog = all.length > 0 && all.every((y) => y > 0), log = canLog && (state.log[id] ?? high / low > 100);
  const notes = runs.flatMap((run) => run.notes.filter((note) => note.includes(` ${run.unit} of ${name} the`) || note.startsWith("behind")));
  return { title: name, series, log, canLog, marks, span, stops: [...stops].sort((a, b) => a - b), notes };
}
if (!metrics.length) document.querySelector("#metrics .charts").append(el("p", { className: "note", textContent: "Nothing was measured." }));

// All rounds, a page of them at a time.
let page = null, changesOnly = false;
function table() {
  const run = runs[state.run], r = run.rounds, host = document.querySelector("#rounds .wide");
  const listed = [...Array(run.count).keys()].filter((i) => !changesOnly || r.candidate[i] !== r.previous[i] || r.abandoned[i]);
  const pages = Math.max(1, Math.ceil(listed.length / 20));
  page = Math.max(0, Math.min(pages - 1, page ?? 0));
  const names = ["round", run.unit, "values", "margin", "spread", "gain", "tries", "why"];
  const rows = listed.slice(20 * page, 20 * page + 20).map((i) => {
    const end = r.start[i] + r.epochs[i], text = [i, `${r.start[i]}–${end}${r.kept[i] < r.epochs[i] ? `, ${r.epochs[i] - r.kept[i]} left behind` : ""}`, values(run, r.candidate[i]), show(r.margin[i] ?? "–"), show(r.spread[i] ?? "–"), show(r.gain[i] ?? "–"), `${r.tried[i]}${r.failed[i] ? ` (${r.failed[i]} failed)` : ""}`, r.reason[i]];
    const row = el("tr", { tabIndex: 0 }, ...text.map((each, k) => el("td", { textContent: String(each), className: k === 7 ? "words" : "" })));
    const pick = () => { if (r.shown[i]) { choose(i); round.scrollIntoView({ block: "nearest" }); } };
    row.onclick = pick;
    row.onkeydown = (event) => { if (event.key === "Enter") pick(); };
    return row;
  });
  const button = (text, by) => { const each = el("button", { type: "button", textContent: text, disabled: page + by < 0 || page + by >= pages }); each.onclick = () => { page += by; table(); }; return each; };
  const box = el("input", { type: "checkbox", checked: changesOnly });
  box.onchange = () => { changesOnly = box.checked; page = 0; table(); };
  host.replaceChildren(
    el("div", { className: "pager" }, button("← earlier", -1), button("later →", 1), el("span", { textContent: `page ${page + 1} of ${pages}, ${listed.length} rounds${runs.length > 1 ? ` of ${run.name}` : ""}` }), el("label", {}, box, " only changes")),
    el("table", {}, el("thead", {}, el("tr", {}, ...names.map((text) => el("th", { textContent: text })))), el("tbody", {}, ...rows)));
}

// The bar above the charts: what is aligned, which run, and back to the whole.
function bar() {
  const host = document.getElementById("bar"), parts = [];
  const tried = runs.some((run) => run.tried.length);
  if (tried) for (const [mode, text] of [["epochs", `by ${one(unit)}`], ["cost", "by cost"]]) {
    const button = el("button", { type: "button", textContent: text, "aria-pressed": String(state.mode === mode) });
    button.onclick = () => { state.mode = mode; state.view = null; rebuild(); };
    parts.push(button);
  }
  if (runs.length > 1) {
    const select = el("select", { "aria-label": "the run whose tries are shown" }, ...runs.map((run, i) => el("option", { value: String(i), textContent: run.name, selected: i === state.run })));
    select.onchange = () => { state.run = +select.value; state.round = null; page = 0; rebuild(); inspect(); table(); };
    parts.push(el("label", {}, "tries of ", select));
  }
  if (state.view) {
    const button = el("button", { type: "button", textContent: "show all" });
    button.onclick = () => zoom(null);
    parts.push(button);
  } else parts.push(el("span", { textContent: matchMedia("(hover: hover)").matches ? "drag to zoom, double click to go back" : "tap a chart for its values" }));
  const active = document.activeElement && host.contains(document.activeElement) ? document.activeElement.textContent : null;
  host.replaceChildren(...parts);
  if (active) [...host.querySelectorAll("button")].find((each) => each.textContent === active)?.focus();
}
for (const dot of document.querySelectorAll(".dot")) dot.style.background = runColor(+dot.dataset.run);

bar(); inspect(); table();
const recolor = () => { for (const chart of charts) chart.build(); for (const dot of document.querySelectorAll(".dot")) dot.style.background = runColor(+dot.dataset.run); };
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);
// Chromium prints a canvas as it was drawn since this event, and blank where that was done twice: all are drawn once.
addEventListener("beforeprint", () => { document.documentElement.classList.add("print"); recolor(); for (const chart of charts) chart.draw(); });
addEventListener("afterprint", () => { document.documentElement.classList.remove("print"); recolor(); });
addEventListener("pagehide", remember);
if (saved.scroll) { history.scrollRestoration = "manual"; scrollTo(0, saved.scroll); }
let begun = 0;
addEventListener("scroll", () => { clearTimeout(begun); begun = setTimeout(remember, 200); }, { passive: true });
if (data.reload) {
  const again = () => {
    if (charts.some((chart) => chart.drag) || !tip.hidden) return void setTimeout(again, 500);
    remember(); location.reload();
  };
  setTimeout(again, 1000 * data.reload);
}
})();
