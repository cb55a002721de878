"use strict";
/* The network as a drawing: hosts are circles, switches squares, controllers hexagons.
 *
 * Nodes stand where the document says, spread over the room there is. Names are inside where they fit,
 * else below. With many links the numbers of the ports are shown only at the node under the pointer, the
 * chosen one, and where the present step's message goes, so that they can be read.
 */

Penstock.Topology = class {
  static MANY_LINKS = 26;
  /** So many nodes times links at most are worth the work of leading each link around nodes. */
  static MOST_ROUTED = 20_000;

  #nodes = new Map();
  #links = [];

  /**
   * @param {HTMLElement} place
   * @param {Penstock.Store} store
   */
  constructor(place, store) {
    this.place = place;
    this.store = store;
    this.svg = Penstock.dom.drawn("svg", {
      role: "group",
      "aria-label": "The network: hosts, switches, controllers",
    });
    this.place.append(this.svg);
    this.layered = Penstock.layers.placed(store.run.data.topology);
    this.#legend();
    new ResizeObserver(() => this.#layOut()).observe(place);
    store.subscribe((changed) => {
      if (changed.has("step") || changed.has("component") || changed.has("run"))
        this.#refresh(changed.has("step"));
    });
  }

  #legend() {
    const kinds = new Set(this.store.run.data.topology.nodes.map((node) => node.kind));
    const items = [...kinds].map((kind) =>
      Penstock.dom.element("span", {}, Penstock.marks.badge(kind), Penstock.marks.lookOf(kind).word),
    );
    Penstock.dom.byId("topology-legend").append(...items);
  }

  #layOut() {
    const { width, height } = this.place.getBoundingClientRect();
    if (width < 10 || height < 10) return;
    const { nodes } = this.store.run.data.topology;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    // Names that do not fit inside their shapes stand below them.
    const below = nodes.some((node) => node.name.length > 4) ? 16 : 0;
    const margin = { x: Math.min(60, width * 0.09), y: Math.min(44, height * 0.13) };
    const places = nodes.map((node) => this.layered?.get(node.name) ?? node);
    const [across, down] = ["x", "y"].map((axis) =>
      Penstock.Topology.#spread(places.map((place) => place[axis])),
    );
    const spots = nodes.map((_, index) => ({
      x: margin.x + across[index] * (width - 2 * margin.x),
      y: margin.y + down[index] * (height - 2 * margin.y - below),
    }));
    this.radius = Penstock.Topology.#roomFor(spots);
    this.#nodes.clear();
    nodes.forEach((node, index) => this.#nodes.set(node.name, { ...node, ...spots[index] }));
    this.#draw();
    this.#refresh(true);
  }

  /** Use the whole room: the least becomes 0, the most 1. */
  static #spread(values) {
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return values.map((value) => (most - least < 0.01 ? 0.5 : (value - least) / (most - least)));
  }

  static #roomFor(spots) {
    let nearest = Infinity;
    spots.forEach((one, index) => {
      for (const other of spots.slice(0, index)) {
        nearest = Math.min(nearest, Math.hypot(one.x - other.x, one.y - other.y));
      }
    });
    return Math.max(6, Math.min(20, nearest * 0.36));
  }

  #draw() {
    const { drawn } = Penstock.dom;
    const { links, control } = this.store.run.data.topology;
    this.isCrowded = links.length > Penstock.Topology.MANY_LINKS;
    const wires = drawn("g", { class: this.isCrowded ? "links crowded" : "links" });
    const sessions = drawn("g", { class: "sessions" });
    this.#links = [];
    for (const link of links) this.#drawLink(link, wires);
    for (const { switch: name, controller } of control) {
      const [one, other] = [this.#nodes.get(name), this.#nodes.get(controller)];
      if (!one || !other) continue;
      const curve = this.#route(one, other);
      const line = drawn("path", { d: Penstock.routing.drawn(curve) });
      sessions.append(line);
      this.#links.push({ ends: [name, controller], link: null, line, curve, ports: [], isControl: true });
    }
    const shapes = drawn("g", { class: "nodes" });
    for (const node of this.#nodes.values()) shapes.append(this.#drawNode(node));
    const flights = drawn("g", { class: "flights", "aria-hidden": "true" });
    this.motion = new Penstock.Motion(flights);
    this.svg.replaceChildren(sessions, wires, shapes, flights);
  }

  #drawLink(link, wires) {
    const { drawn } = Penstock.dom;
    if (!this.#nodes.has(link.a) || !this.#nodes.has(link.b)) return;
    const line = drawn("path");
    const ports = [drawn("text", { class: "port" }), drawn("text", { class: "port" })];
    wires.append(line, ...ports);
    const drawnLink = { link, line, ports, isControl: false };
    this.#lead(drawnLink, link);
    this.#links.push(drawnLink);
  }

  /** Lead a link from one end to the other; a host that moved has its link led elsewhere. */
  #lead(drawnLink, { a, a_port: aPort, b, b_port: bPort }) {
    const { line, ports } = drawnLink;
    const [one, other] = [this.#nodes.get(a), this.#nodes.get(b)];
    if (!one || !other || drawnLink.led === `${a}:${aPort} ${b}:${bPort}`) return;
    drawnLink.led = `${a}:${aPort} ${b}:${bPort}`;
    drawnLink.ends = [a, b];
    drawnLink.curve = this.#route(one, other);
    line.setAttribute("d", Penstock.routing.drawn(drawnLink.curve));
    const { bend } = drawnLink.curve;
    for (const [port, near, far, number] of [
      [ports[0], one, bend, aPort],
      [ports[1], other, bend, bPort],
    ]) {
      const length = Math.hypot(far.x - near.x, far.y - near.y) || 1;
      const away = Math.min(this.radius * 1.25 + 9, length * 0.8);
      const [dx, dy] = [(far.x - near.x) / length, (far.y - near.y) / length];
      // Beside the line, not on it.
      port.setAttribute("x", near.x + dx * away - dy * 6);
      port.setAttribute("y", near.y + dy * away + dx * 6 + 3.5);
      // A host has one port: its number says nothing.
      port.textContent = near.kind === "host" ? "" : String(number);
    }
  }

  /** Return how a line is led from one node to another, around those in between. */
  #route(one, other) {
    const ends = [one.name, other.name];
    const others = [...this.#nodes.values()].filter((node) => !ends.includes(node.name));
    const isLarge = others.length * this.store.run.data.topology.links.length > Penstock.Topology.MOST_ROUTED;
    return Penstock.routing.led(one, other, isLarge ? [] : others, this.radius * 1.2 + 3);
  }

  /** Return the curve of the link between two nodes, from the first to the second; null if there is none. */
  #curveBetween(from, to) {
    const found = this.#links.find(({ ends }) => ends.includes(from.name) && ends.includes(to.name));
    if (!found) return null;
    const { curve } = found;
    return found.ends[0] === from.name ? curve : { from: curve.to, bend: curve.bend, to: curve.from };
  }

  /** Return a link as it is wired now. */
  static #now(link, wiring) {
    const moved = wiring.placeOf(link.a) ?? wiring.placeOf(link.b);
    if (moved === null) return link;
    return wiring.placeOf(link.a) !== null
      ? { ...link, b: moved.node, b_port: moved.port }
      : { ...link, a: moved.node, a_port: moved.port };
  }

  #drawNode(node) {
    const { drawn, shortened } = Penstock.dom;
    const { shape, word } = Penstock.marks.lookOf(node.kind);
    const corners = Penstock.marks.cornersOf(shape, this.radius);
    const body = (radius, name) => {
      const points =
        corners &&
        Penstock.marks
          .cornersOf(shape, radius)
          .map((each) => each.join())
          .join(" ");
      return corners
        ? drawn("polygon", { points, class: name, "stroke-linejoin": "round" })
        : drawn("circle", { r: radius, class: name });
    };
    const size = Math.max(9, Math.min(13, this.radius * 0.78));
    const fitsInside = node.name.length * size * 0.62 < this.radius * 1.9 && this.radius >= 11;
    const text = drawn(
      "text",
      {
        y: fitsInside ? size * 0.36 : this.radius * 1.15 + size,
        "text-anchor": "middle",
        "font-size": size,
        class: fitsInside ? "name inside" : "name",
      },
      shortened(node.name, 18),
    );
    const group = drawn(
      "g",
      {
        class: `node ${node.kind}`,
        transform: `translate(${node.x} ${node.y})`,
        role: "button",
        tabindex: 0,
        "data-name": node.name,
      },
      drawn("title", {}, `${word} ${node.name}`),
      body(this.radius + 6, "halo"),
      body(this.radius, "body"),
      text,
    );
    const open = () => this.store.pick(node.name);
    group.addEventListener("click", open);
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      open();
    });
    for (const [name, isOn] of [
      ["pointerenter", true],
      ["pointerleave", false],
      ["focus", true],
      ["blur", false],
    ]) {
      group.addEventListener(name, () => this.#point(node.name, isOn));
    }
    return group;
  }

  #point(name, isOn) {
    for (const { ends, ports } of this.#links) {
      if (ends.includes(name)) ports.forEach((port) => port.classList.toggle("pointed", isOn));
    }
  }

  #refresh(moves) {
    if (!this.motion) return;
    const { store } = this;
    const { run, step: index } = store;
    const changed = new Set(run.changedIn(index));
    const wiring = Penstock.wiring.at(store);
    const step = index < 0 ? null : run.steps[index];
    const acts = step && step.lane >= 0 ? run.lanes[step.lane] : null;
    const isBroken = index >= 0 && run.isViolation(index);
    for (const group of this.svg.querySelectorAll(".node")) {
      const { name } = group.dataset;
      const look = Penstock.marks.lookOf(this.#nodes.get(name).kind);
      group.classList.toggle("changed", changed.has(name));
      group.classList.toggle("acts", name === acts);
      group.classList.toggle("broken", name === acts && isBroken);
      group.classList.toggle("picked", name === store.component);
      group.classList.toggle("off", wiring.isOff(name));
      const said = [
        wiring.isOff(name) ? "without power" : "",
        changed.has(name) ? "changed in this step" : "",
        name === acts ? "acts in this step" : "",
      ];
      group.setAttribute("aria-label", [`${look.word} ${name}`, ...said.filter(Boolean)].join(", "));
      group.setAttribute("aria-pressed", String(name === store.component));
    }
    const flights = this.#flights(index);
    const used = new Set(flights.map(({ names }) => [...names].sort().join(" ")));
    for (const drawnLink of this.#links) {
      const { line, ports, link, isControl } = drawnLink;
      if (!isControl) this.#lead(drawnLink, Penstock.Topology.#now(link, wiring));
      const { ends } = drawnLink;
      const isUsed = used.has([...ends].sort().join(" "));
      line.classList.toggle("used", isUsed);
      const places = isControl
        ? [
            [ends[0], ends[1]],
            [ends[1], ends[0]],
          ]
        : [
            [link.a, link.a_port],
            [link.b, link.b_port],
          ];
      const isDown = places.some(([node, port]) => wiring.isCut(node, port)) || ends.some(wiring.isOff);
      line.classList.toggle("down", isDown);
      ports.forEach((port) => port.classList.toggle("shown", isUsed || ends.includes(store.component)));
    }
    for (const flight of flights) flight.curve = this.#curveBetween(flight.from, flight.to);
    if (moves) this.motion.show(flights, store.isPlaying ? 0.7 : 1);
  }

  /** The messages of a step that can be drawn: the one it takes, and those it sends. */
  #flights(index) {
    if (index < 0) return [];
    const { run } = this.store;
    const step = run.steps[index];
    const to = this.#nodes.get(run.lanes[step.lane]);
    if (!to) return [];
    const flights = [];
    const sender = run.sender[index];
    const from = sender < 0 ? null : this.#nodes.get(run.lanes[run.steps[sender].lane]);
    if (from && from !== to) {
      const control = run.isControl(step.lane, run.steps[sender].lane);
      flights.push({
        from,
        to,
        label: run.labelOf(index),
        control,
        arrives: true,
        names: [from.name, to.name],
      });
    }
    for (const [lane, text] of step.sends) {
      const far = this.#nodes.get(run.lanes[lane]);
      if (!far || far === to) continue;
      const label = Penstock.Run.headOf(run.text(text));
      const control = run.isControl(step.lane, lane);
      flights.push({ from: to, to: far, label, control, arrives: false, names: [to.name, far.name] });
    }
    return flights;
  }
};
