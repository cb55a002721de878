"use strict";
/* Networks built in layers, as trees and fat trees are, drawn in layers: hosts below, the core above.
 *
 * The level of a switch is its distance from the nearest host. A network is in layers if there are at least
 * two levels and links lead from one level to the next only. Others keep the places that the document gives
 * them.
 */

Penstock.layers = (() => {
  const byName = (one, other) => one.localeCompare(other, "en", { numeric: true });

  function neighboursOf({ nodes, links }) {
    const near = new Map(nodes.filter((node) => node.kind !== "controller").map((node) => [node.name, []]));
    for (const { a, b } of links) {
      near.get(a)?.push(b);
      near.get(b)?.push(a);
    }
    return near;
  }

  /** How many links each node is away from the nearest host. */
  function levelsOf(hosts, near) {
    const levels = new Map(hosts.map((name) => [name, 0]));
    for (const name of levels.keys()) {
      for (const other of near.get(name)) if (!levels.has(other)) levels.set(other, levels.get(name) + 1);
    }
    return levels;
  }

  /** Order hosts by the switch they are at, and each level by the middle of what is below it. */
  function ordered(rows, levels, near) {
    const across = new Map();
    const middle = (name, level) => {
      const below = near.get(name).filter((other) => levels.get(other) === level && across.has(other));
      return below.reduce((sum, other) => sum + across.get(other), 0) / Math.max(1, below.length);
    };
    const atSwitch = (name) => near.get(name)[0] ?? "";
    rows.forEach((row, level) => {
      if (level === 0) row.sort((one, other) => byName(atSwitch(one), atSwitch(other)) || byName(one, other));
      else {
        const key = new Map(row.map((name) => [name, middle(name, level - 1)]));
        row.sort((one, other) => key.get(one) - key.get(other) || byName(one, other));
      }
      row.forEach((name, place) => across.set(name, (place + 0.5) / row.length));
    });
    return across;
  }

  /** Return where the nodes of a network in layers stand, `Map(name, {x, y})`, or null. */
  function placed(topology) {
    const { nodes, links } = topology;
    const near = neighboursOf(topology);
    const hosts = nodes.filter((node) => node.kind === "host").map((node) => node.name);
    const levels = levelsOf(hosts, near);
    const top = Math.max(0, ...levels.values());
    const isApart = ({ a, b }) => Math.abs(levels.get(a) - levels.get(b)) === 1;
    if (top < 2 || levels.size !== near.size || !links.every(isApart)) return null;
    const rows = Array.from({ length: top + 1 }, () => []);
    for (const [name, level] of levels) rows[level].push(name);
    const across = ordered(rows, levels, near);
    const controllers = nodes.filter((node) => node.kind === "controller").map((node) => node.name);
    const height = top + (controllers.length ? 1 : 0);
    const places = new Map([...across].map(([name, x]) => [name, { x, y: 1 - levels.get(name) / height }]));
    controllers.forEach((name, place) => places.set(name, { x: (place + 0.5) / controllers.length, y: 0 }));
    return places;
  }

  return { placed };
})();
