"use strict";
/* The head of the page: what was broken, by which engine it was found, what there is to remark. */

Penstock.masthead = (() => {
  const { byId, element, counted } = Penstock.dom;

  function badges(run) {
    const data = run.data;
    const told = [data.engine, counted(run.length, "step")];
    const inputs = run.kinds.get("input");
    if (inputs) told.push(counted(inputs, "input"));
    const nodes = data.topology.nodes;
    for (const [kind, words] of [
      ["host", "hosts"],
      ["switch", "switches"],
      ["controller", "controllers"],
    ]) {
      const count = nodes.filter((node) => node.kind === kind).length;
      if (count) told.push(counted(count, kind, words));
    }
    if (data.loop) told.push(`the last ${counted(data.loop, "step")} for ever`);
    const items = told.map((text, index) => element("li", { class: index ? null : "engine" }, text));
    if (data.cut_short) items.push(element("li", { class: "warning" }, "cut short"));
    if (data.live) items.unshift(element("li", { class: "live", id: "live-badge" }, "live"));
    return items;
  }

  /** What is said of a run without a verdict: a trace that lost its end may have had one. */
  function nothingFound(data) {
    if (data.cut_short) {
      return ["?", "The trace was cut short: whether a property is violated at its end is not known."];
    }
    const found = data.conclusion;
    if (!found) return ["?", "This run violates nothing as far as it goes; what was judged is not known."];
    if (found.result === "violated") return ["?", `This run violates nothing as far as it goes. ${found.told}`];
    if (!found.judged) return ["?", `Nothing was judged. ${found.told}`];
    return [found.result === "bounded" ? "?" : "✓", found.told];
  }

  /** Return the cause of a violation as a list, a term for each kind of sentence, or null. */
  function cause(sentences) {
    if (sentences.length === 0) return null;
    const parts = sentences.map((text) => /^(\w+): ([^]*)$/.exec(text) ?? [text, "Cause", text]);
    return element(
      "dl",
      { class: "cause" },
      ...parts.flatMap(([, term, text]) => [element("dt", {}, term), element("dd", {}, text)]),
    );
  }

  function verdict(store) {
    const found = store.run.data.verdict;
    if (found === null) {
      const [sign, text] = nothingFound(store.run.data);
      return [element("span", { class: "sign", "aria-hidden": "true" }, sign), element("p", {}, text)];
    }
    const button = element(
      "button",
      { type: "button", class: "quiet", id: "go-verdict" },
      `Go to step ${found.step}`,
    );
    button.addEventListener("click", () => store.go(store.run.broken));
    button.title = "Go to the step that violates it";
    return [
      element("span", { class: "sign", "aria-hidden": "true" }, "✗"),
      element(
        "p",
        {},
        element("strong", {}, found.property),
        " is violated: ",
        element("span", {}, found.message),
      ),
      cause(found.cause ?? []),
      store.run.length ? button : null,
    ].filter(Boolean);
  }

  function wireCopying(command) {
    byId("command").textContent = command;
    byId("copy").addEventListener("click", async () => {
      const announcer = byId("announcer");
      try {
        await navigator.clipboard.writeText(command);
        announcer.textContent = "The command was copied.";
        byId("copy").classList.add("done");
        setTimeout(() => byId("copy").classList.remove("done"), 1500);
      } catch {
        getSelection().selectAllChildren(byId("command"));
        announcer.textContent = "The command is selected: copy it.";
      }
    });
  }

  /** Quote a file's name for a shell where it needs that. */
  function quoted(name) {
    return /^[\w./@%+=:,-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
  }

  /** Fill the head of the page and keep it up to date. */
  function show(store) {
    const data = store.run.data;
    document.title = data.title;
    byId("title").textContent = data.title;
    byId("made-by").textContent = `Written by Penstock ${data.penstock} from ${data.source}.`;
    wireCopying(`penstock replay ${quoted(data.source)}`);
    const refresh = () => {
      byId("badges").replaceChildren(...badges(store.run));
      byId("verdict").replaceChildren(...verdict(store));
      byId("verdict").classList.toggle("broken", store.run.data.verdict !== null);
      byId("remarks").replaceChildren(...store.run.data.remarks.map((text) => element("li", {}, text)));
      byId("remarks").hidden = store.run.data.remarks.length === 0;
    };
    refresh();
    store.subscribe((changed) => {
      if (changed.has("facts") || changed.has("run")) refresh();
    });
  }

  return { show };
})();
