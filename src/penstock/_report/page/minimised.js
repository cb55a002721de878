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

  /** Put the inputs of both together, in order: `[text, isKept]`. What was made simpler counts as kept. */
  function together(before, after) {
    const told = [];
    let next = 0;
    for (const text of after) {
      const found = before.indexOf(text, next);
      if (found >= 0) {
        for (const dropped of before.slice(next, found)) told.push([dropped, false]);
        next = found + 1;
      }
      told.push([text, true]);
    }
    for (const dropped of before.slice(next)) told.push([dropped, false]);
    return told;
  }

  function inputs(run, before, after) {
    const told = together(before, after);
    const item = ([text, isKept]) =>
      element(
        "li",
        { class: isKept ? "kept" : "dropped" },
        element("span", { class: "sign", "aria-hidden": "true" }, isKept ? "•" : "−"),
        element("span", { class: "visually-hidden" }, isKept ? "kept: " : "dropped: "),
        element("span", { class: "text" }, run.text(text)),
      );
    const dropped = told.filter(([, isKept]) => !isKept).length;
    const list = element("ul", { class: "lines inputs only-kept" }, ...told.map(item));
    const more = `Show the ${counted(dropped, "input")} that ${dropped === 1 ? "was" : "were"} dropped`;
    const toggle = element("button", { type: "button", class: "link", "aria-expanded": "false" }, more);
    toggle.addEventListener("click", () => {
      const hides = list.classList.toggle("only-kept");
      toggle.setAttribute("aria-expanded", String(!hides));
      toggle.textContent = hides ? more : "Show only what was kept";
    });
    return [element("h3", {}, "What is needed"), list, dropped ? toggle : null].filter(Boolean);
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
    if (after && found.inputs_after?.length)
      card.append(...inputs(run, found.inputs_before ?? [], found.inputs_after));
    return card;
  }

  return { section };
})();
