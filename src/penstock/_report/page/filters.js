"use strict";
/* The filter as the reader sets it: nothing pressed lets everything through, what is pressed is what is
 * left.
 */

Penstock.Filters = class {
  /** @param {Penstock.Store} store */
  constructor(store) {
    const { byId } = Penstock.dom;
    this.store = store;
    this.place = byId("filters");
    this.opener = byId("filter-open");
    this.relevant = byId("relevant");
    this.opener.addEventListener("click", () => this.toggle());
    this.relevant.addEventListener("change", () => store.narrow({ relevant: this.relevant.checked }));
    byId("filter-reset-here").addEventListener("click", () => this.reset());
    this.place.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.toggle(false);
    });
    store.subscribe((changed) => {
      if (changed.has("filter") || changed.has("run") || changed.has("facts")) this.#refresh();
    });
    this.#refresh();
  }

  /** Open or close the filter; opening puts the focus into it. */
  toggle(opens = this.place.hidden) {
    this.place.hidden = !opens;
    this.opener.setAttribute("aria-expanded", String(opens));
    if (opens) {
      this.#draw();
      this.place.querySelector("button")?.focus();
    } else this.opener.focus();
  }

  /** Let everything through again. */
  reset() {
    this.store.narrow(Penstock.filtering.ALL);
  }

  #refresh() {
    const { run, filter } = this.store;
    const { byId } = Penstock.dom;
    this.relevant.checked = filter.relevant;
    byId("relevant-label").hidden = !run.hasRelevant;
    const active = Penstock.filtering.isActive({ ...filter, relevant: false });
    byId("filter-label").textContent = active ? "Filter is on" : "Filter";
    this.opener.classList.toggle("on", active);
    if (!this.place.hidden) this.#draw();
  }

  #draw() {
    const { element } = Penstock.dom;
    const { run, filter } = this.store;
    const focused = this.place.contains(document.activeElement)
      ? document.activeElement.dataset.key
      : undefined;
    const lanes = run.lanes.map((name, lane) =>
      this.#chip(
        `lane ${lane}`,
        run.kindOfNode.get(name) ?? "fabric",
        name,
        filter.lanes?.has(lane) ?? false,
        () => this.#press("lanes", lane),
      ),
    );
    const kinds = [...run.kinds].map(([kind, count]) =>
      this.#chip(
        `kind ${kind}`,
        kind,
        `${Penstock.marks.lookOf(kind).word} ${count.toLocaleString("en-GB")}`,
        filter.kinds?.has(kind) ?? false,
        () => this.#press("kinds", kind),
      ),
    );
    const reset = element(
      "button",
      { type: "button", class: "link", "data-key": "reset", id: "filter-reset" },
      "Show all steps",
    );
    reset.addEventListener("click", () => this.reset());
    this.place.replaceChildren(
      this.#group("Component", lanes),
      this.#group("Kind", kinds),
      this.#group("Packet", [this.#packets(), reset]),
    );
    if (focused) this.place.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  #group(name, children) {
    const { element } = Penstock.dom;
    return element(
      "div",
      { class: "filter-group", role: "group", "aria-label": name },
      element("span", { class: "faint" }, name),
      element("div", { class: "chips" }, ...children),
    );
  }

  #chip(key, kind, text, isOn, press) {
    const chip = Penstock.dom.element(
      "button",
      { type: "button", class: "chip", "aria-pressed": String(isOn), "data-key": key },
      Penstock.marks.badge(kind),
      Penstock.dom.shortened(text, 24),
    );
    chip.addEventListener("click", press);
    return chip;
  }

  #press(part, value) {
    const pressed = new Set(this.store.filter[part] ?? []);
    if (!pressed.delete(value)) pressed.add(value);
    this.store.narrow({ [part]: pressed.size ? pressed : null });
  }

  #packets() {
    const { element, shortened } = Penstock.dom;
    const { run, filter } = this.store;
    const tags = [...run.packets.keys()].map((packet) => [run.text(packet), packet]);
    tags.sort(([one], [other]) => one.localeCompare(other, "en", { numeric: true }));
    const options = tags.map(([text, packet]) =>
      element("option", { value: packet, selected: packet === filter.packet }, shortened(text, 40)),
    );
    const choice = element(
      "select",
      { "aria-label": "Which packet", "data-key": "packet", id: "packet" },
      element("option", { value: "" }, "any packet"),
      ...options,
    );
    choice.addEventListener("change", () =>
      this.store.narrow({ packet: choice.value === "" ? null : Number(choice.value) }),
    );
    return choice;
  }
};
