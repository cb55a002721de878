"use strict";
/* Searching the steps: their words, messages, events and packets. */

Penstock.Search = class {
  static PAUSE = 120;

  #timer = 0;
  #lowered = [];

  /**
   * @param {Penstock.Store} store
   * @param {Penstock.StepList} list
   * @param {Penstock.SpaceTime} diagram
   */
  constructor(store, list, diagram) {
    const { byId } = Penstock.dom;
    this.store = store;
    this.views = [list, diagram];
    this.box = byId("search");
    this.count = byId("search-count");
    this.found = [];
    this.box.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#search(), Penstock.Search.PAUSE);
    });
    this.box.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        this.#search();
        this.go(event.shiftKey ? -1 : 1);
      } else if (event.key === "Escape") {
        this.box.value = "";
        this.#search();
        byId("steps").focus();
      }
    });
    store.subscribe((changed) => {
      if (changed.has("filter") || changed.has("run")) this.#look();
      if (changed.has("step") || changed.has("filter")) this.#tell();
    });
  }

  #search() {
    clearTimeout(this.#timer);
    if (this.box.value.trim() === this.store.query) return;
    this.#look(this.box.value.trim());
    this.store.seek(this.box.value.trim());
    this.#tell();
  }

  #look(query = this.store.query) {
    const { run, visible } = this.store;
    this.found = [];
    if (query !== "") {
      const wanted = query.toLowerCase();
      for (let at = this.#lowered.length; at < run.strings.length; at++)
        this.#lowered.push(run.strings[at].toLowerCase());
      const has = this.#lowered.map((text) => text.includes(wanted));
      const speaks = ({ title, told, message, packet, events, lost, n }) =>
        has[title] ||
        told.some((text) => has[text]) ||
        (message !== null && has[message]) ||
        (packet !== null && has[packet]) ||
        events.some((text) => has[text]) ||
        lost.some((text) => has[text]) ||
        String(n) === wanted;
      this.found = visible.filter((index) => speaks(run.steps[index]));
    }
    const set = new Set(this.found);
    for (const view of this.views) view.matching = set;
  }

  #tell() {
    const { query, step } = this.store;
    const place = Penstock.filtering.placeOf(this.found, step);
    const isOn = place >= 0 && this.found[place] === step;
    this.count.textContent = query === "" ? "" : `${isOn ? `${place + 1} of ` : ""}${this.found.length}`;
  }

  /** Go to the next found step, or with -1 to the one before. */
  go(by) {
    if (this.found.length === 0) return;
    const place = Penstock.filtering.placeOf(this.found, this.store.step);
    const isOn = place >= 0 && this.found[place] === this.store.step;
    const wanted = by > 0 ? place + 1 : place - (isOn ? 1 : 0);
    this.store.go(this.found[(wanted + this.found.length) % this.found.length]);
  }

  /** Put the cursor into the box. */
  focus() {
    this.box.focus();
    this.box.select();
  }
};
