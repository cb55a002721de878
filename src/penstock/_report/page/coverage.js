"use strict";
/* What a search looked at, and what it did not. */

Penstock.coverage = (() => {
  const { element } = Penstock.dom;
  const number = (value) =>
    typeof value === "number" ? value.toLocaleString("en-GB", { maximumFractionDigits: 2 }) : String(value);

  function tiles(found) {
    const told = [
      ["states", found.states],
      ["transitions", found.transitions],
      ["seconds", found.seconds],
    ];
    const known = told.filter(([, value]) => value !== null && value !== undefined);
    return element(
      "dl",
      { class: "tiles" },
      ...known.map(([name, value]) =>
        element("div", {}, element("dt", {}, name), element("dd", {}, number(value))),
      ),
    );
  }

  function properties(list) {
    const signs = { true: ["✓", "exercised"], false: ["–", "not exercised"], null: ["?", "not known"] };
    const rows = list.map(({ name, exercised, why }) => {
      const [sign, words] = signs[String(exercised)] ?? signs.null;
      return element(
        "tr",
        { class: exercised ? "yes" : "no" },
        element(
          "td",
          { class: "sign" },
          element("span", { "aria-hidden": "true" }, sign),
          element("span", { class: "visually-hidden" }, words),
        ),
        element("th", { scope: "row" }, name),
        element("td", {}, why || words),
      );
    });
    return element(
      "table",
      { class: "properties" },
      element("caption", {}, "Properties: was there anything to judge?"),
      element("tbody", {}, ...rows),
    );
  }

  function list(heading, items) {
    if (!items || items.length === 0) return [];
    return [
      element("h3", {}, heading),
      element("ul", { class: "plain" }, ...items.map((text) => element("li", {}, String(text)))),
    ];
  }

  /** Return the section about what was searched, or null. */
  function section(run) {
    const found = run.data.coverage;
    if (!found) return null;
    return element(
      "section",
      { class: "card", id: "coverage", "aria-labelledby": "coverage-heading" },
      element("h2", { id: "coverage-heading" }, "What was searched"),
      found.result ? element("p", {}, String(found.result)) : null,
      tiles(found),
      found.properties?.length ? properties(found.properties) : null,
      ...list("Not covered", found.not_covered),
      ...list("Next steps, in this order", found.next_steps),
      ...list("Strategies", found.strategies),
      ...list("Reductions", found.reductions),
    );
  }

  return { section };
})();
