"use strict";
/* How the network is wired at a step: cut links, nodes without power, hosts that moved.
 *
 * The fabric's state says so in words; these are the few that matter for the drawing.
 */

Penstock.wiring = (() => {
  const CUT = /^the link at (\S+):(\S+) is cut$/;
  const OFF = /^(\S+) has no power$/;
  const MOVED = /^(\S+) is at (\S+):(\S+)$/;

  /** Return the wiring at the present step: `{isCut(node, port), isOff(node), placeOf(host)}`. */
  function at(store) {
    const lines = store.states
      .sectionsAt(store.step, "fabric")
      .filter(({ name }) => name === "wiring")
      .flatMap(({ lines: kept, added }) => [...kept, ...added]);
    const found = (pattern) => lines.map((line) => pattern.exec(line)).filter((match) => match !== null);
    const cut = new Set(found(CUT).map(([, node, port]) => `${node}:${port}`));
    const off = new Set(found(OFF).map(([, node]) => node));
    const moved = new Map(found(MOVED).map(([, host, node, port]) => [host, { node, port }]));
    return {
      isCut: (node, port) => cut.has(`${node}:${port}`),
      isOff: (node) => off.has(node),
      placeOf: (host) => moved.get(host) ?? null,
    };
  }

  return { at };
})();
