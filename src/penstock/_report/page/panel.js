"use strict";
/* What a component holds at the present step, and what the step changed: `+` came, `−` went. */

Penstock.Panel = class {
  static MOST_LINES = 200;
  static FOLDED = new Set(["counters"]);
  static ORDERED = new Set(["in flight", "pending", "waiting", "log"]);

  /** @param {Penstock.Store} store */
  constructor(store) {
    const { byId, element } = Penstock.dom;
    this.store = store;
    this.place = byId("state");
    this.choice = byId("component");
    this.folded = new Map();
    this.choice.addEventListener("change", () =>
      store.pick(this.choice.value === "" ? null : this.choice.value),
    );
    byId("next-change").addEventListener("click", () => this.goToNextChange());
    store.subscribe((changed) => {
      if (changed.has("run")) this.#fillChoice();
      if (["step", "component", "run"].some((each) => changed.has(each))) this.#draw();
    });
    this.noStates = element("p", { class: "nothing" }, "The states of this run are not known.");
    this.#fillChoice();
    this.#draw();
  }

  #fillChoice() {
    const { element } = Penstock.dom;
    const { run, states } = this.store;
    const names = [...new Set([...run.lanes, ...run.kindOfNode.keys(), ...states.components()])];
    this.choice.replaceChildren(
      element("option", { value: "" }, "What changed"),
      ...names.map((name) => element("option", { value: name }, Penstock.dom.shortened(name, 40))),
    );
  }

  /** Go to the next step that changes the chosen component, or any if none is chosen. */
  goToNextChange() {
    const { run, component, step } = this.store;
    const indexes =
      component === null
        ? run.steps.map((_, index) => index).filter((index) => run.steps[index].changes.length)
        : run.changedBy.get(component);
    const next = Penstock.Run.nextIn(indexes, step);
    if (next >= 0) this.store.go(next);
    else Penstock.dom.byId("announcer").textContent = "No step changes it.";
  }

  #draw() {
    const { store } = this;
    const { component } = store;
    this.choice.value = component ?? "";
    if (store.run.data.states === false) this.place.replaceChildren(this.noStates);
    else this.place.replaceChildren(...(component === null ? this.#changes() : this.#component(component)));
  }

  #changes() {
    const { element } = Penstock.dom;
    const { run, step, states } = this.store;
    const changed = run.changedIn(step);
    if (changed.length === 0) {
      const text =
        step < 0 ? "This is the beginning: nothing has changed yet." : "This step changed no state.";
      return [element("p", { class: "nothing" }, text), this.#offers()];
    }
    return changed.map((name) => {
      const sections = states
        .sectionsAt(step, name)
        .filter(({ removed, added }) => removed.length + added.length);
      return element(
        "article",
        { class: "component" },
        this.#heading(name, true),
        ...sections.map((section) => this.#section({ ...section, lines: [] }, name)),
      );
    });
  }

  /** Where nothing changed, the components to look at. */
  #offers() {
    const { element, shortened } = Penstock.dom;
    const { run } = this.store;
    return element(
      "div",
      { class: "chips offers" },
      ...run.lanes.map((name) => {
        const chip = element(
          "button",
          { type: "button", class: "chip" },
          Penstock.marks.badge(run.kindOfNode.get(name) ?? "fabric"),
          shortened(name, 24),
        );
        chip.addEventListener("click", () => this.store.pick(name));
        return chip;
      }),
    );
  }

  #component(name) {
    const { element } = Penstock.dom;
    const { step, states } = this.store;
    const sections = states.sectionsAt(step, name);
    const told = sections.filter(({ lines, removed, added }) => lines.length + removed.length + added.length);
    const body = told.length
      ? told.map((section) => this.#section(section, name))
      : [element("p", { class: "nothing" }, `${name} holds nothing at this step.`)];
    return [
      element("article", { class: "component" }, this.#heading(name, false), this.#ports(name), ...body),
    ];
  }

  #heading(name, opens) {
    const { element } = Penstock.dom;
    const kind = this.store.run.kindOfNode.get(name) ?? "fabric";
    const shown = Penstock.dom.shortened(name, 80);
    const word = Penstock.marks.lookOf(kind).word;
    const title = opens ? element("button", { type: "button", class: "link" }, shown) : shown;
    if (opens) title.addEventListener("click", () => this.store.pick(name));
    return element(
      "h3",
      {},
      Penstock.marks.badge(kind, 15),
      title,
      element("span", { class: "faint" }, word === name ? "" : word),
    );
  }

  #ports(name) {
    const { element } = Penstock.dom;
    const { links, control } = this.store.run.data.topology;
    const told = [];
    for (const { a, a_port: aPort, b, b_port: bPort } of links) {
      if (a === name) told.push([aPort, `${aPort} → ${b}`]);
      if (b === name) told.push([bPort, `${bPort} → ${a}`]);
    }
    told.sort(([one], [other]) => one - other);
    const sessions = control.filter((each) => each.switch === name).map((each) => `→ ${each.controller}`);
    const items = [...told.map(([, text]) => text), ...sessions].map((text) => element("li", {}, text));
    return items.length ? element("ul", { class: "wires", "aria-label": "Links" }, ...items) : null;
  }

  #section({ name, lines, removed, added }, component) {
    const { element } = Penstock.dom;
    const marked = [
      ...removed.map((text) => ({ text, sign: "−" })),
      ...lines.map((text) => ({ text, sign: "" })),
      ...added.map((text) => ({ text, sign: "+" })),
    ];
    if (!Penstock.Panel.ORDERED.has(name))
      marked.sort((one, other) => Penstock.Panel.#order(one.text, other.text));
    const most = Penstock.Panel.MOST_LINES;
    const shown = marked.filter(({ sign }, index) => index < most || sign !== "");
    const rows = shown.map(({ text, sign }) => this.#line(text, sign));
    if (shown.length < marked.length) {
      rows.push(
        element(
          "li",
          { class: "faint" },
          `and ${(marked.length - shown.length).toLocaleString("en-GB")} more`,
        ),
      );
    }
    const key = `${component} ${name}`;
    const isOpen =
      this.folded.get(key) ?? (!Penstock.Panel.FOLDED.has(name) || removed.length + added.length > 0);
    const details = element(
      "details",
      { open: isOpen },
      element(
        "summary",
        {},
        name,
        element("span", { class: "faint" }, ` ${marked.length - removed.length || ""}`),
      ),
      element("ul", { class: "lines" }, ...rows),
    );
    details.querySelector("summary").addEventListener("click", () => this.folded.set(key, !details.open));
    return details;
  }

  static #order(one, other) {
    const priority = (text) => Number(/^priority=(\d+)/.exec(text)?.[1] ?? 0);
    return priority(other) - priority(one) || one.localeCompare(other, "en", { numeric: true });
  }

  #line(text, sign) {
    const { element } = Penstock.dom;
    const names = { "+": "added", "−": "removed", "": null };
    const said = { "+": "added: ", "−": "removed: " }[sign];
    return element(
      "li",
      { class: names[sign] },
      element("span", { class: "sign", "aria-hidden": "true" }, sign),
      said ? element("span", { class: "visually-hidden" }, said) : null,
      element("span", { class: "text" }, ...Penstock.Panel.#breakable(text)),
    );
  }

  /** A rule's priority, match and actions set apart; a line may break after each comma. */
  static #breakable(text) {
    const { element } = Penstock.dom;
    const pieces = (part) => part.split(/(?<=,)/).flatMap((piece) => [piece, document.createElement("wbr")]);
    const rule = /^priority=(\d+) (.*?) -> (.*)$/s.exec(text);
    if (rule === null) return pieces(text);
    return [
      element("span", { class: "priority", title: "priority" }, `priority=${rule[1]}`),
      " ",
      element("span", {}, ...pieces(rule[2])),
      " ",
      element("span", { class: "actions" }, "→ ", ...pieces(rule[3])),
    ];
  }
};
