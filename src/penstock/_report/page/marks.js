"use strict";
/* How each kind of step and component looks: a colour and a shape, so that neither has to be seen alone. */

Penstock.marks = (() => {
  const KINDS = {
    host: { word: "host", shape: "circle", colour: "--host" },
    switch: { word: "switch", shape: "square", colour: "--switch" },
    controller: { word: "controller", shape: "hexagon", colour: "--controller" },
    fabric: { word: "network", shape: "diamond", colour: "--fault" },
    fault: { word: "fault", shape: "diamond", colour: "--fault" },
    input: { word: "input", shape: "triangle", colour: "--fault" },
    log: { word: "log", shape: "line", colour: "--soft" },
    time: { word: "time", shape: "ring", colour: "--soft" },
    violated: { word: "violation", shape: "cross", colour: "--bad" },
    repeated: { word: "repeated", shape: "cross", colour: "--bad" },
    healed: { word: "healed", shape: "tick", colour: "--good" },
  };

  /** Return the look of a kind; one that is not known looks like a step of the network. */
  function lookOf(kind) {
    return KINDS[kind] ?? KINDS.fabric;
  }

  const corner = (radius, part, turn = 0) => {
    const angle = (part + turn) * 2 * Math.PI;
    return [radius * Math.cos(angle), radius * Math.sin(angle)];
  };
  const polygon = (radius, corners, turn) =>
    Array.from({ length: corners }, (_, index) => corner(radius, index / corners, turn));

  /** Return the corners of a shape around the origin, or null if it has none. */
  function cornersOf(shape, radius) {
    switch (shape) {
      case "square":
        return polygon(radius * 1.2, 4, 1 / 8);
      case "diamond":
        return polygon(radius * 1.2, 4, 0);
      case "hexagon":
        return polygon(radius * 1.1, 6, 0);
      case "triangle":
        return polygon(radius * 1.15, 3, 1 / 12 + 2 / 3);
      default:
        return null;
    }
  }

  /** Draw a mark on a canvas. */
  function paint(context, shape, x, y, radius, colour) {
    context.beginPath();
    const corners = cornersOf(shape, radius);
    context.fillStyle = colour;
    context.strokeStyle = colour;
    if (corners !== null) {
      corners.forEach(([dx, dy], index) => context[index ? "lineTo" : "moveTo"](x + dx, y + dy));
      context.closePath();
      context.fill();
      return;
    }
    context.lineWidth = Math.max(1.5, radius * 0.45);
    if (shape === "circle") {
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fill();
      return;
    }
    for (const [dx, dy, begins] of strokesOf(shape, radius)) {
      context[begins ? "moveTo" : "lineTo"](x + dx, y + dy);
    }
    if (shape === "ring") context.arc(x, y, radius * 0.8, 0, 2 * Math.PI);
    context.stroke();
  }

  function strokesOf(shape, r) {
    if (shape === "cross")
      return [
        [-r, -r, true],
        [r, r],
        [r, -r, true],
        [-r, r],
      ];
    if (shape === "tick")
      return [
        [-r, 0, true],
        [-r * 0.2, r * 0.8],
        [r, -r * 0.8],
      ];
    return shape === "line"
      ? [
          [0, -r, true],
          [0, r],
        ]
      : [];
  }

  /** Draw a mark as SVG, for lists and legends. */
  function badge(kind, size = 12) {
    const { dom } = Penstock;
    const { shape, colour } = lookOf(kind);
    const radius = size * 0.38;
    const corners = cornersOf(shape, radius);
    const paint = `var(${colour})`;
    const stroke = { fill: "none", stroke: paint, "stroke-width": 2 };
    const strokes = strokesOf(shape, radius)
      .map(([x, y, begins]) => `${begins ? "M" : "L"}${x} ${y}`)
      .join("");
    const mark =
      corners !== null
        ? dom.drawn("polygon", { points: corners.map((each) => each.join()).join(" "), fill: paint })
        : shape === "circle"
          ? dom.drawn("circle", { r: radius, fill: paint })
          : shape === "ring"
            ? dom.drawn("circle", { r: radius * 0.8, ...stroke })
            : dom.drawn("path", { d: strokes, ...stroke });
    const box = {
      class: "mark",
      width: size,
      height: size,
      viewBox: `${-size / 2} ${-size / 2} ${size} ${size}`,
    };
    return dom.drawn("svg", { ...box, "aria-hidden": "true" }, mark);
  }

  return { KINDS, lookOf, cornersOf, paint, badge };
})();
