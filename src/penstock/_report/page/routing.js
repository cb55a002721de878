"use strict";
/* How a link is led between two nodes: straight where nothing is in the way, else in a bow around it.
 *
 * A host that moved, or a ring drawn flat, would have its link drawn across a switch, which then looks as if
 * it were on that link.
 */

Penstock.routing = (() => {
  const SAMPLES = 24;
  const WIDEST = 12;

  /** Return the point on a quadratic curve at a part of the way, from 0 to 1. */
  function at({ from, bend, to }, part) {
    const rest = 1 - part;
    const along = (axis) => rest * rest * from[axis] + 2 * rest * part * bend[axis] + part * part * to[axis];
    return { x: along("x"), y: along("y") };
  }

  /** Return how far a curve stays away from the nearest of some points. */
  function clearance(curve, points) {
    let nearest = Infinity;
    for (let sample = 0; sample <= SAMPLES; sample += 1) {
      const here = at(curve, sample / SAMPLES);
      for (const { x, y } of points) nearest = Math.min(nearest, Math.hypot(here.x - x, here.y - y));
    }
    return nearest;
  }

  /**
   * Return the curve from one point to another, `{from, bend, to}`, that keeps a distance from all others:
   * the straightest that does, and of those that do not the one which stays furthest away.
   */
  function led(from, to, others, distance) {
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const length = Math.hypot(dx, dy) || 1;
    const middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
    let best = null;
    for (let width = 0; width <= WIDEST; width += 1) {
      for (const side of width === 0 ? [1] : [1, -1]) {
        const off = side * width * distance;
        const bend = { x: middle.x - (dy / length) * off, y: middle.y + (dx / length) * off };
        const curve = { from, bend, to };
        const room = clearance(curve, others);
        if (room >= distance) return curve;
        if (best === null || room > best.room) best = { curve, room };
      }
    }
    return best.curve;
  }

  /** Return a curve as the data of an SVG path. */
  function drawn({ from, bend, to }) {
    return `M ${from.x} ${from.y} Q ${bend.x} ${bend.y} ${to.x} ${to.y}`;
  }

  return { at, led, drawn };
})();
