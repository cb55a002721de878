"use strict";
/* The space-time diagram: a line for each component, time to the right, messages as arrows between the
 * lines.
 *
 * Only what is seen is drawn. Where steps are narrower than a few pixels they become ticks, and only
 * arrows that led to the violation or carry the chosen packet are left: thousands of lines over one another
 * would say nothing.
 */

Penstock.SpaceTime = class {
  static DENSE = 4;

  #frame = 0;
  #colours = {};

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Penstock.Store} store
   */
  constructor(canvas, store) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.store = store;
    this.view = new Penstock.Viewport();
    this.hovered = -1;
    this.#arrange();
    new ResizeObserver(() => this.#resize()).observe(canvas.parentElement);
    store.subscribe((changed) => {
      if (changed.has("filter") || changed.has("run")) this.#arrange();
      if (changed.has("filter") || changed.has("step") || changed.has("run")) this.reveal();
      this.redraw();
    });
  }

  /** Take the colours of the theme that is on. */
  recolour() {
    const style = getComputedStyle(document.documentElement);
    const names = [
      "card",
      "ink",
      "soft",
      "faint",
      "line",
      "host",
      "switch",
      "controller",
      "fault",
      "bad",
      "good",
      "accent",
      "packet",
      "band",
    ];
    this.#colours = Object.fromEntries(
      names.map((name) => [`--${name}`, style.getPropertyValue(`--${name}`).trim()]),
    );
    this.font = style.getPropertyValue("--sans").trim();
    this.redraw();
  }

  /** Draw again before the next frame is shown. */
  redraw() {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  /** Bring the present step into view. */
  reveal() {
    const { store } = this;
    const place = Penstock.filtering.placeOf(store.visible, store.step);
    const lane = store.step < 0 ? -1 : (this.row[store.run.steps[store.step].lane] ?? -1);
    this.view.reveal(Math.max(0, place), lane);
    this.redraw();
  }

  #arrange() {
    const { run, visible, filter } = this.store;
    this.place = new Int32Array(run.length).fill(-1);
    visible.forEach((index, place) => {
      this.place[index] = place;
    });
    this.shown = run.lanes
      .map((_, lane) => lane)
      .filter((lane) => filter.lanes === null || filter.lanes.has(lane));
    this.row = {};
    this.shown.forEach((lane, row) => {
      this.row[lane] = row;
    });
    Penstock.dom.byId("nothing").hidden = visible.length > 0 || run.length === 0;
    if (this.view.width) this.#measure();
  }

  #measure() {
    const { width, height } = this.view;
    this.context.font = `12px ${this.font}`;
    const longest = Math.max(
      0,
      ...this.shown.map((lane) => this.context.measureText(this.#name(lane)).width),
    );
    const gutter = Math.ceil(longest) + 34;
    this.view.measure({ width, height, gutter, count: this.store.visible.length, lanes: this.shown.length });
  }

  #name(lane) {
    return Penstock.dom.shortened(this.store.run.lanes[lane], 16);
  }

  #resize() {
    const { width, height } = this.canvas.parentElement.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const isFirst = this.view.width === 0;
    Object.assign(this.view, { width, height });
    this.#measure();
    if (isFirst && width > 0) this.view.open();
    this.reveal();
    this.#draw();
  }

  /** Return the shown step nearest to a point, or -1. */
  stepAt(x, y) {
    const { view, store } = this;
    if (x < view.gutter) return -1;
    const middle = Math.round(view.placeAt(x));
    const reach = Math.max(1, Math.ceil(9 / view.scale));
    let best = -1;
    let nearest = 20;
    for (
      let place = Math.max(0, middle - reach);
      place <= Math.min(view.count - 1, middle + reach);
      place++
    ) {
      const index = store.visible[place];
      const row = this.row[store.run.steps[index].lane];
      const dy = row === undefined ? y - Penstock.Viewport.TOP / 2 : y - view.y(row);
      const distance = Math.hypot(x - view.x(place), dy);
      if (distance < nearest) [nearest, best] = [distance, index];
    }
    return best >= 0 ? best : (store.visible[Math.max(0, Math.min(view.count - 1, middle))] ?? -1);
  }

  /** Return the name of the component whose line is labelled at a point, or null. */
  componentAt(x, y) {
    if (x >= this.view.gutter) return null;
    const lane = this.shown.find((_, row) => Math.abs(y - this.view.y(row)) < this.view.lane / 2);
    return lane === undefined ? null : this.store.run.lanes[lane];
  }

  #draw() {
    this.#frame = 0;
    const { context, view, canvas } = this;
    if (!view.width) return;
    const ratio = canvas.width / view.width;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, view.width, view.height);
    context.save();
    context.beginPath();
    context.rect(view.gutter - 6, 0, view.width, view.height);
    context.clip();
    this.#drawLoop();
    this.#drawBand();
    this.#drawLines();
    context.save();
    context.beginPath();
    context.rect(view.gutter - 6, Penstock.Viewport.TOP - 4, view.width, view.height);
    context.clip();
    this.#drawArrows();
    context.restore();
    this.#drawMarks();
    context.restore();
    this.#drawAxis();
    this.#drawNames();
    this.#describe();
  }

  /** Say in words what part of the run is drawn. */
  #describe() {
    const { run, visible } = this.store;
    const [first, last] = this.view.inSight.map((place) => run.steps[visible[place]]?.n ?? 0);
    const lines = Penstock.dom.counted(this.shown.length, "line");
    const label = `Space-time diagram: steps ${first} to ${last} of ${run.length} on ${lines}`;
    if (this.canvas.getAttribute("aria-label") !== label) this.canvas.setAttribute("aria-label", label);
  }

  /** Of a run that goes on for ever, the last steps repeat. */
  #drawLoop() {
    const { context, view, store } = this;
    const { loop } = store.run.data;
    const first = store.visible.findIndex((index) => index >= store.run.length - loop);
    if (!loop || first < 0) return;
    const [left, right] = [view.x(first) - view.scale / 2, view.x(view.count - 1) + view.scale / 2];
    context.fillStyle = this.#colours["--band"];
    context.fillRect(left, Penstock.Viewport.TOP, right - left, view.height);
    context.fillStyle = this.#colours["--soft"];
    context.font = `11px ${this.font}`;
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    context.fillText("↻ for ever", left + 6, view.height - 8);
  }

  #drawBand() {
    const { context, view, store } = this;
    const place = Penstock.filtering.placeOf(store.visible, store.step);
    if (place < 0) return;
    const width = Math.max(3, view.scale);
    context.fillStyle = this.#colours["--band"];
    context.fillRect(view.x(place) - width / 2, 0, width, view.height);
  }

  #drawLines() {
    const { context, view } = this;
    context.strokeStyle = this.#colours["--line"];
    context.lineWidth = 1;
    context.beginPath();
    this.shown.forEach((_, row) => {
      const y = Math.round(view.y(row)) + 0.5;
      if (y < Penstock.Viewport.TOP || y > view.height) return;
      context.moveTo(view.gutter, y);
      context.lineTo(view.width, y);
    });
    context.stroke();
  }

  /** The arrows that are seen, by the step that receives. */
  #arrowsSeen() {
    const { store, view } = this;
    const { run, visible } = store;
    const [first, last] = view.seen;
    if (visible.length === 0) return [];
    const [low, high] = [visible[first], visible[last]];
    const found = [];
    for (let place = first; place <= last; place++) {
      const index = visible[place];
      if (run.sender[index] >= 0) found.push(index);
      for (const receiver of run.receivers[index] ?? []) if (receiver > high) found.push(receiver);
    }
    for (const index of run.longArrows) if (index > high && run.sender[index] < low) found.push(index);
    return found;
  }

  #drawArrows() {
    const { store, view } = this;
    const { run } = store;
    const isDense = view.scale < Penstock.SpaceTime.DENSE;
    const packet = store.step < 0 ? null : run.steps[store.step].packet;
    const labels = [];
    for (const index of this.#arrowsSeen()) {
      const step = run.steps[index];
      const sender = run.sender[index];
      const [from, to] = [this.place[sender], this.place[index]];
      const [above, below] = [this.row[run.steps[sender].lane], this.row[step.lane]];
      if (from < 0 || to < 0 || above === undefined || below === undefined) continue;
      const isPacket = packet !== null && step.packet === packet;
      const isNow = index === store.step || sender === store.step;
      if (isDense && !isPacket && !step.relevant && !isNow) continue;
      const colour = isPacket
        ? "--packet"
        : run.isControl(step.lane, run.steps[sender].lane)
          ? "--controller"
          : "--soft";
      const dim = run.hasRelevant && !step.relevant && !isPacket && !isNow;
      this.#arrow(view.x(from), view.y(above), view.x(to), view.y(below), colour, {
        dim,
        strong: isPacket || isNow,
        head: view.scale >= 7,
      });
      const middle = [(view.x(from) + view.x(to)) / 2, (view.y(above) + view.y(below)) / 2];
      if (view.scale >= 30 && step.packet !== null)
        labels.push([...middle, Penstock.dom.shortened(run.labelOf(index), 14), isPacket]);
    }
    if (!isDense) this.#drawUnreceived();
    this.#drawLabels(labels);
  }

  #arrow(x1, y1, x2, y2, colour, { dim, strong, head, dashed = false }) {
    const { context } = this;
    context.globalAlpha = dim ? 0.32 : 0.9;
    context.strokeStyle = context.fillStyle = this.#colours[colour];
    context.lineWidth = strong ? 2 : 1.1;
    context.setLineDash(dashed ? [3, 3] : []);
    const angle = Math.atan2(y2 - y1, x2 - x1);
    const size = strong ? 8 : 6;
    // The tip touches the mark, whose radius is about five pixels.
    const [tx, ty] = head ? [x2 - Math.cos(angle) * 5, y2 - Math.sin(angle) * 5] : [x2, y2];
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(tx, ty);
    context.stroke();
    context.setLineDash([]);
    if (head) {
      context.beginPath();
      context.moveTo(tx, ty);
      for (const turn of [2.7, -2.7])
        context.lineTo(tx + size * Math.cos(angle + turn), ty + size * Math.sin(angle + turn));
      context.closePath();
      context.fill();
    }
    context.globalAlpha = 1;
  }

  /** Messages that nobody takes in this run go a little way towards their receiver. */
  #drawUnreceived() {
    const { view, store } = this;
    const { run, visible } = store;
    const [first, last] = view.seen;
    for (let place = first; place <= last; place++) {
      const index = visible[place];
      const row = this.row[run.steps[index].lane];
      if (row === undefined) continue;
      for (const [lane] of run.unreceived(index)) {
        const other = this.row[lane];
        if (other === undefined || other === row) continue;
        const [x, y] = [view.x(place), view.y(row)];
        const way = Math.sign(other - row) * view.lane * 0.42;
        this.#arrow(x, y, x + Math.min(16, view.scale * 0.6), y + way, "--soft", {
          dim: false,
          dashed: true,
          head: true,
        });
      }
    }
  }

  #drawLabels(labels) {
    const { context } = this;
    const taken = [];
    context.font = `11px ${this.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const [x, y, text, strong] of labels.sort((one, other) => Number(other[3]) - Number(one[3]))) {
      const width = context.measureText(text).width + 6;
      const box = [x - width / 2, y - 7, x + width / 2, y + 7];
      if (taken.some((each) => box[0] < each[2] && box[2] > each[0] && box[1] < each[3] && box[3] > each[1]))
        continue;
      taken.push(box);
      context.fillStyle = this.#colours["--card"];
      context.fillRect(box[0], box[1], width, 14);
      context.fillStyle = this.#colours[strong ? "--packet" : "--soft"];
      context.fillText(text, x, y);
    }
  }

  #drawMarks() {
    const { view, store } = this;
    const { run, visible } = store;
    const [first, last] = view.seen;
    const isSeen = (index) => index >= 0 && this.place[index] >= first && this.place[index] <= last;
    if (view.scale < Penstock.SpaceTime.DENSE) {
      this.#drawTicks(first, last);
      for (const index of new Set([run.broken, store.step])) if (isSeen(index)) this.#drawMark(index);
    } else {
      for (let place = first; place <= last; place++) this.#drawMark(visible[place]);
    }
    if (store.query !== "") {
      for (const index of this.matching) if (isSeen(index)) this.#ring(index, 8, "--packet", 1.5);
    }
    if (isSeen(this.hovered)) this.#ring(this.hovered, 8, "--soft", 1.5);
    if (isSeen(store.step)) this.#ring(store.step, 9, "--ink", 2);
  }

  /** Steps of no component stand above all lines. */
  #heightOf(index) {
    const row = this.row[this.store.run.steps[index].lane];
    return row === undefined ? Penstock.Viewport.TOP - 9 : this.view.y(row);
  }

  #drawMark(index) {
    const { context, view, store } = this;
    const { run } = store;
    const step = run.steps[index];
    const { shape, colour } = Penstock.marks.lookOf(step.kind);
    const [x, y] = [view.x(this.place[index]), this.#heightOf(index)];
    const isBroken = run.isViolation(index);
    const bad = this.#colours["--bad"];
    const radius = isBroken ? 6 : Math.max(2.5, Math.min(5.5, view.scale * 0.36));
    if (isBroken) this.#line(x, "--bad", 1.5);
    else if (step.kind === "fault" || step.kind === "healed") this.#line(x, colour, 0.7);
    if (step.lane >= 0 && y < Penstock.Viewport.TOP - 2) return;
    context.globalAlpha = run.hasRelevant && !step.relevant && !isBroken && index !== store.step ? 0.5 : 1;
    Penstock.marks.paint(context, shape, x, y, radius, this.#colours[colour]);
    context.globalAlpha = 1;
    if (isBroken && step.kind !== "violated") {
      Penstock.marks.paint(context, "cross", x, Penstock.Viewport.TOP - 9, 5, bad);
    }
    if (step.lost.length) {
      Penstock.marks.paint(context, "cross", x + Math.min(9, view.scale * 0.4), y - 8, 3.2, bad);
    }
  }

  /** Steps narrower than their marks become ticks, one for each pixel of each line. */
  #drawTicks(first, last) {
    const { context, view, store } = this;
    const { run, visible } = store;
    const taken = new Map();
    const ticks = new Map();
    for (let place = first; place <= last; place++) {
      const { lane, kind } = run.steps[visible[place]];
      const x = Math.round(view.x(place));
      const key = lane < 0 ? kind : lane;
      if (taken.get(key) === x) continue;
      taken.set(key, x);
      const y = this.#heightOf(visible[place]);
      if (lane >= 0 && y < Penstock.Viewport.TOP - 2) continue;
      const { colour } = Penstock.marks.lookOf(kind);
      if (!ticks.has(colour)) ticks.set(colour, []);
      ticks.get(colour).push(x, y - 4);
    }
    // A colour is costly to set, so all ticks of one are drawn together.
    for (const [colour, spots] of ticks) {
      context.fillStyle = this.#colours[colour];
      for (let at = 0; at < spots.length; at += 2) context.fillRect(spots[at], spots[at + 1], 1, 8);
    }
  }

  #line(x, colour, width) {
    const { context, view } = this;
    context.strokeStyle = this.#colours[colour];
    context.lineWidth = width;
    context.setLineDash([4, 4]);
    context.beginPath();
    context.moveTo(x, Penstock.Viewport.TOP - 2);
    context.lineTo(x, view.height);
    context.stroke();
    context.setLineDash([]);
  }

  #ring(index, radius, colour, width) {
    const { context } = this;
    const [x, y] = [this.view.x(this.place[index]), this.#heightOf(index)];
    context.strokeStyle = this.#colours[colour];
    context.lineWidth = width;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
  }

  /** Return the least of 1, 2, 5, 10, 20, … that is not less than a number. */
  static #round(number) {
    const power = 10 ** Math.floor(Math.log10(Math.max(1, number)));
    return [1, 2, 5, 10].map((part) => part * power).find((each) => each >= number) ?? 1;
  }

  /** Numbers of steps along the top, as many as fit; with the time, if the run has one. */
  #drawAxis() {
    const { context, view, store } = this;
    const { run, visible } = store;
    const [first, last] = view.seen;
    context.font = `10.5px ${this.font}`;
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    context.fillStyle = this.#colours["--faint"];
    let free = view.gutter;
    const every = Penstock.SpaceTime.#round(46 / view.scale);
    // The first step is number one, so round numbers stand one place before round places.
    for (let place = Math.ceil((first + 1) / every) * every - 1; place <= last; place += every) {
      const step = run.steps[visible[place]];
      const text = view.scale > 60 && step.at !== null ? `${step.n} · ${step.at / 1000} s` : String(step.n);
      const width = context.measureText(text).width;
      const x = view.x(place);
      if (x - width / 2 < free || x + width / 2 > view.width) continue;
      context.fillText(text, x, 12);
      free = x + width / 2 + 10;
    }
  }

  #drawNames() {
    const { context, view, store } = this;
    context.font = `12px ${this.font}`;
    context.textAlign = "left";
    context.textBaseline = "middle";
    this.shown.forEach((lane, row) => {
      const y = view.y(row);
      if (y < Penstock.Viewport.TOP || y > view.height) return;
      const name = store.run.lanes[lane];
      const look = Penstock.marks.lookOf(store.run.kindOfNode.get(name) ?? "fabric");
      Penstock.marks.paint(context, look.shape, 14, y, 4.5, this.#colours[look.colour]);
      context.fillStyle = this.#colours[name === store.component ? "--accent" : "--ink"];
      context.fillText(this.#name(lane), 25, y);
    });
  }
};
