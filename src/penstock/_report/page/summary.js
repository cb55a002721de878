"use strict";
/* The summary of a fuzzing run: whatever it says, as names with values; counts by kind as bars. */

Penstock.summary = (() => {
  const { element } = Penstock.dom;
  const MOST = 40;
  const FEW = 3;
  const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
  const isCounts = (value) =>
    isTable(value) &&
    Object.keys(value).length > 1 &&
    Object.values(value).every((each) => typeof each === "number");
  const worded = (name) => name.replaceAll("_", " ");

  function plain(value) {
    if (value === null || value === undefined) return "none";
    if (typeof value === "number") return value.toLocaleString("en-GB", { maximumFractionDigits: 3 });
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (Array.isArray(value)) return listed(value);
    if (isTable(value))
      return Object.entries(value)
        .map(([name, each]) => `${worded(name)} ${plain(each)}`)
        .join(", ");
    return String(value);
  }

  function listed(values) {
    const told = values.slice(0, FEW).map(plain).join("; ");
    const more = values.length > FEW ? `; and ${values.length - FEW} more` : "";
    return values.length ? told + more : "none";
  }

  function bars(name, counts) {
    const entries = Object.entries(counts)
      .sort(([, one], [, other]) => other - one)
      .slice(0, MOST);
    const most = Math.max(1, ...entries.map(([, count]) => count));
    const rows = entries.map(([kind, count]) => {
      const filled = element("span", { class: "filled" });
      filled.style.width = `${(count / most) * 100}%`;
      return element(
        "div",
        { class: "before-after" },
        element("span", {}, worded(kind)),
        element("span", { class: "bar", "aria-hidden": "true" }, filled),
        element("span", {}, plain(count)),
      );
    });
    return element("div", { class: "bars" }, element("h3", {}, worded(name)), ...rows);
  }

  /** Return the section about a fuzzing run, or null. */
  function section(run) {
    const found = run.data.summary;
    if (!isTable(found)) return null;
    const entries = Object.entries(found);
    const facts = entries
      .filter(([, value]) => !isCounts(value))
      .flatMap(([name, value]) => [
        element("dt", {}, worded(name)),
        element("dd", {}, Penstock.dom.shortened(plain(value), 400)),
      ]);
    const counts = entries.filter(([, value]) => isCounts(value)).map(([name, value]) => bars(name, value));
    return element(
      "section",
      { class: "card", id: "summary", "aria-labelledby": "summary-heading" },
      element("h2", { id: "summary-heading" }, "The run in numbers"),
      ...counts,
      element("dl", { class: "facts" }, ...facts),
    );
  }

  return { section };
})();
