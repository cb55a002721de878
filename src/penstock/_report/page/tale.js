"use strict";
/* The story in words, whole, to be read and to be printed. */

Penstock.tale = (() => {
  const { element, counted } = Penstock.dom;
  const MOST = 400;

  /** The lines of a story as the document has it: sentences are numbered, what came of them is indented. */
  function fromStory(store) {
    return store.run.data.story.map((text) => {
      const line = store.run.text(text);
      const numbered = /^\s*(\d+)\. (.*)$/s.exec(line);
      if (numbered !== null) return sentence(store, Number(numbered[1]), numbered[2]);
      if (/^\s*✗/.test(line)) return element("p", { class: "broken" }, line.trim());
      return element("p", { class: /^\s/.test(line) ? "came" : "faint" }, line.trim());
    });
  }

  function sentence(store, number, words) {
    const index = store.run.indexOfNumber.get(number);
    const label = element(
      index === undefined ? "span" : "button",
      { class: "number", type: index === undefined ? null : "button" },
      `${number}.`,
    );
    if (index !== undefined) {
      label.setAttribute("aria-label", `Go to step ${number}`);
      label.addEventListener("click", () => {
        store.go(index);
        Penstock.dom
          .byId("workbench")
          .scrollIntoView({ behavior: Penstock.dom.wantsCalm() ? "auto" : "smooth" });
      });
    }
    return element("p", { class: "sentence" }, label, " ", words);
  }

  function fromSteps(store) {
    const { run } = store;
    const indexes = run.steps
      .map((_, index) => index)
      .filter((index) => !run.hasRelevant || run.steps[index].relevant || run.isViolation(index));
    const lines = indexes
      .slice(0, MOST)
      .flatMap((index) => [
        sentence(store, run.steps[index].n, run.text(run.steps[index].title)),
        ...run.detailsOf(index).map((text) => element("p", { class: "came" }, text)),
      ]);
    const left = indexes.length - MOST;
    if (left > 0) lines.push(element("p", { class: "faint" }, `And ${counted(left, "step")} more.`));
    return lines;
  }

  /** Return the section with the story, or null if there are no steps. */
  function section(store) {
    const { run } = store;
    if (run.length === 0 && !run.data.story) return null;
    const verdict = run.data.verdict;
    const lines = run.data.story ? fromStory(store) : fromSteps(store);
    const isTold = lines.some((line) => line.classList.contains("broken"));
    if (verdict !== null && !isTold) {
      lines.push(element("p", { class: "broken" }, `✗ ${verdict.property} is violated: ${verdict.message}`));
      lines.push(...(verdict.cause ?? []).map((text) => element("p", { class: "came" }, text)));
    }
    return element(
      "section",
      { class: "card tale", id: "tale", "aria-labelledby": "tale-heading" },
      element("h2", { id: "tale-heading" }, run.hasRelevant && verdict ? "What led to it" : "The story"),
      ...lines,
    );
  }

  return { section };
})();
