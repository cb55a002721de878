"use strict";
/* A small plot of a number that goes down: how many inputs were left after so many replays. */

Penstock.plot = (() => {
  const { drawn } = Penstock.dom;
  const [WIDTH, HEIGHT] = [420, 150];
  const EDGE = { left: 40, right: 12, top: 12, bottom: 30 };

  /** Draw `[[x, y], …]` as steps, with the words for both directions. */
  function steps(points, across, up) {
    const lastX = Math.max(1, points.at(-1)[0]);
    const mostY = Math.max(1, ...points.map(([, y]) => y));
    const x = (value) => EDGE.left + (value / lastX) * (WIDTH - EDGE.left - EDGE.right);
    const y = (value) => HEIGHT - EDGE.bottom - (value / mostY) * (HEIGHT - EDGE.top - EDGE.bottom);
    let line = `M${x(points[0][0])} ${y(points[0][1])}`;
    for (const [px, py] of points.slice(1)) line += `H${x(px)}V${y(py)}`;
    const area = `${line}V${y(0)}H${x(points[0][0])}Z`;
    const text = (at, anchor, words) => drawn("text", { x: at[0], y: at[1], "text-anchor": anchor }, words);
    const label = `${up} from ${points[0][1]} to ${points.at(-1)[1]} in ${points.at(-1)[0]} ${across}`;
    return drawn(
      "svg",
      { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
      drawn("path", { class: "axis", d: `M${EDGE.left} ${EDGE.top}V${y(0)}H${WIDTH - EDGE.right}` }),
      drawn("path", { class: "area", d: area }),
      drawn("path", { class: "curve", d: line }),
      text([EDGE.left - 6, y(mostY) + 4], "end", mostY.toLocaleString("en-GB")),
      text([EDGE.left - 6, y(0) + 4], "end", "0"),
      text([WIDTH - EDGE.right, HEIGHT - 12], "end", `${lastX.toLocaleString("en-GB")} ${across}`),
      text([EDGE.left, HEIGHT - 12], "start", up),
    );
  }

  return { steps };
})();
