"use strict";
/* Messages on their way over the drawing of the network: first the one that arrives, then those that leave.
 *
 * What leaves stops part of the way, since it has not arrived yet. Where less motion is wanted all of them
 * stand still.
 */

Penstock.Motion = class {
  static LEG = 520;
  static PARKED = 0.42;
  static MOST = 24;

  #frame = 0;
  #flights = [];

  /** @param {SVGElement} layer where the messages are drawn */
  constructor(layer) {
    this.layer = layer;
  }

  /** Show messages: `[{from: {x, y}, to: {x, y}, curve, label, control, arrives}]`. */
  show(flights, pace = 1) {
    cancelAnimationFrame(this.#frame);
    this.layer.replaceChildren();
    const hasArrival = flights.some((flight) => flight.arrives);
    this.#flights = flights.slice(0, Penstock.Motion.MOST).map((flight) => this.#draw(flight, hasArrival));
    if (Penstock.dom.wantsCalm()) {
      this.#place(Infinity);
      return;
    }
    const begin = performance.now();
    const tick = (now) => {
      const passed = (now - begin) / (Penstock.Motion.LEG * pace);
      this.#place(passed);
      if (passed < 2) this.#frame = requestAnimationFrame(tick);
    };
    this.#place(0);
    this.#frame = requestAnimationFrame(tick);
  }

  #draw(flight, hasArrival) {
    const { drawn, shortened } = Penstock.dom;
    const shape = flight.control
      ? drawn("rect", { x: -6, y: -4.5, width: 12, height: 9, rx: 2 })
      : drawn("circle", { r: 6 });
    const label = drawn("text", { y: -10, "text-anchor": "middle" }, shortened(flight.label, 16));
    const group = drawn("g", { class: flight.control ? "flight control" : "flight" }, shape, label);
    this.layer.append(group);
    return { ...flight, group, leg: flight.arrives || !hasArrival ? 0 : 1 };
  }

  #place(passed) {
    for (const { from, to, curve, group, arrives, leg } of this.#flights) {
      const part = Math.max(0, Math.min(1, passed - leg));
      const eased = part < 0.5 ? 2 * part * part : 1 - 2 * (1 - part) * (1 - part);
      const way = eased * (arrives ? 1 : Penstock.Motion.PARKED);
      const isStill = passed === Infinity;
      const at = isStill && arrives ? 0.72 : way;
      const straight = { x: from.x + (to.x - from.x) * at, y: from.y + (to.y - from.y) * at };
      const here = curve ? Penstock.routing.at(curve, at) : straight;
      group.setAttribute("transform", `translate(${here.x} ${here.y})`);
      group.classList.toggle("waits", passed < leg);
      group.classList.toggle("arrived", arrives && part === 1 && !isStill);
    }
  }
};
