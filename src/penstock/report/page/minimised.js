"use strict";
/* Before and after a minimisation: how much is left, and which inputs those are. */

Penstock.minimised = (() => {
  const { element, counted } = Penstock.dom;

  function bar(name, before, after) {
    const share = before ? after / before : 0;
    const filled = element("span", { class: "filled" });
    filled.style.width = `${Math.max(1, share * 100)}%`;
    return element(
      "div",
      { class: "before-after" },
      element("span", {}, name),
      element("span", { class: "bar", "aria-hidden": "true" }, filled),
      element(
        "span",
        {},
        `${before.toLocaleString("en-GB")} → `,
        element("strong", {}, after.toLocaleString("en-GB")),
      ),
    );
  }

  /** Tell which of the inputs were kept; the kept ones are in the same order. */
  function isKept(before, after) {
    let next = 0;
    return before.map((text) => {
      if (next >= after.length || text !== after[next]) return false;
      next += 1;
      return true;
    });
  }

  function inputs(run, { inputs_before: before, inputs_after: after }) {
    const kept = isKept(before, after);
    const item = (text, index) =>
      element(
        "li",
        { class: kept[index] ? "kept" : "dropped" },
        element("span", { class: "sign", "aria-hidden": "true" }, kept[index] ? "•" : "−"),
        element("span", { class: "visually-hidden" }, kept[index] ? "kept: " : "dropped: "),
        element("span", { class: "text" }, run.text(text)),
      );
    const dropped = before.length - kept.filter(Boolean).length;
    const list = element("ul", { class: "lines inputs only-kept" }, ...before.map(item));
    const toggle = element(
      "button",
      { type: "button", class: "link", "aria-expanded": "false" },
      `Show the ${counted(dropped, "input")} that ${dropped === 1 ? "was" : "were"} dropped`,
    );
    toggle.addEventListener("click", () => {
      const hides = list.classList.toggle("only-kept");
      toggle.setAttribute("aria-expanded", String(!hides));
      toggle.textContent = hides
        ? `Show the ${counted(dropped, "input")} that were dropped`
        : "Show only what was kept";
    });
    return [element("h3", {}, "What is needed"), list, dropped ? toggle : null];
  }

  /** Return the section about a minimisation, or null. */
  function section(run) {
    const found = run.data.minimised;
    if (!found) return null;
    const { before, after, replays, seconds, progress } = found;
    const pace = [
      replays === undefined || replays === null ? "" : counted(replays, "replay"),
      seconds ? `${seconds.toLocaleString("en-GB", { maximumFractionDigits: 1 })} s` : "",
    ];
    const card = element(
      "section",
      { class: "card", id: "minimised", "aria-labelledby": "minimised-heading" },
      element("h2", { id: "minimised-heading" }, "Before and after"),
      element(
        "p",
        { class: "faint" },
        after ? pace.filter(Boolean).join(", ") : "The minimisation is under way.",
      ),
    );
    if (after)
      card.append(bar("inputs", before.inputs, after.inputs), bar("steps", before.steps, after.steps));
    if (progress && progress.length > 1) card.append(Penstock.plot.steps(progress, "replays", "inputs left"));
    if (found.inputs_before?.length)
      card.append(...inputs(run, { inputs_after: [], ...found }).filter(Boolean));
    return card;
  }

  return { section };
})();
