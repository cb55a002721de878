"use strict";
/* The steps in words, one below the other. Only those in sight are in the page, so that any number can be
 * listed.
 *
 * The heights of rows must be known before they are made: each line of a row is one line of text, cut off
 * where it is too long. Only the present step is shown in full, and its height is measured.
 */

Penstock.StepList = class {
  static TITLE = 30;
  static DETAIL = 19;
  static MOST_DETAILS = 4;
  static MARGIN = 240;

  #offsets = new Float64Array(1);
  #extra = 0;
  #frame = 0;
  #rows = new Map();
  #scroll = 0;
  #height = 0;

  /**
   * @param {HTMLElement} list the element that scrolls
   * @param {HTMLElement} space the element that is as high as all rows together
   * @param {Penstock.Store} store
   */
  constructor(list, space, store) {
    this.list = list;
    this.space = space;
    this.store = store;
    this.matching = new Set();
    this.#measure();
    list.addEventListener(
      "scroll",
      () => {
        this.#scroll = list.scrollTop;
        this.#fill();
      },
      { passive: true },
    );
    list.addEventListener("click", (event) => {
      const row = event.target.closest(".step");
      if (row) store.go(Number(row.dataset.index));
    });
    new ResizeObserver(() => {
      this.#height = list.clientHeight;
      this.#draw(true);
    }).observe(list);
    store.subscribe((changed) => {
      if (changed.has("filter") || changed.has("run") || changed.has("facts")) this.#measure();
      if (changed.has("step") || changed.has("filter")) this.#draw(true);
      else this.redraw();
    });
  }

  /** Draw again before the next frame is shown. */
  redraw() {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #heightOf(index) {
    const details = this.store.run.steps[index].told.length;
    return (
      Penstock.StepList.TITLE +
      Math.min(details, Penstock.StepList.MOST_DETAILS) * Penstock.StepList.DETAIL +
      (details > Penstock.StepList.MOST_DETAILS ? Penstock.StepList.DETAIL : 0)
    );
  }

  #measure() {
    const { visible, run } = this.store;
    this.#offsets = new Float64Array(visible.length + 1);
    visible.forEach((index, place) => {
      this.#offsets[place + 1] = this.#offsets[place] + this.#heightOf(index);
    });
    const { counted, byId } = Penstock.dom;
    const isPart = visible.length !== run.length;
    byId("steps-count").textContent = isPart
      ? `${visible.length.toLocaleString("en-GB")} of ${counted(run.length, "step")}`
      : counted(run.length, "step");
  }

  get #present() {
    const { visible, step } = this.store;
    const place = Penstock.filtering.placeOf(visible, step);
    return place >= 0 && visible[place] === step ? place : -1;
  }

  #topOf(place) {
    const present = this.#present;
    return this.#offsets[place] + (present >= 0 && place > present ? this.#extra : 0);
  }

  #placeAt(top) {
    let low = 0;
    let high = this.store.visible.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#topOf(middle) <= top) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Return how far the list has to be scrolled for the present step to be in sight. */
  #revealing() {
    const present = Math.max(0, Penstock.filtering.placeOf(this.store.visible, this.store.step));
    const top = this.#topOf(present);
    const bottom = this.#topOf(Math.min(present + 1, this.store.visible.length));
    const height = this.#height;
    if (top < this.#scroll + 4) return Math.max(0, top - Math.min(60, height / 4));
    if (bottom <= this.#scroll + height - 4) return this.#scroll;
    const isNear = bottom < this.#scroll + height * 1.6;
    return isNear ? bottom - height + Math.min(70, height / 4) : top - height / 3;
  }

  /** Make all rows anew. The present one is measured while it is alone, which is quick. */
  #draw(reveals = false) {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const { visible } = this.store;
    const present = this.#present;
    const shown = present < 0 ? null : this.#row(present, true);
    const hadFocus = this.space.contains(document.activeElement);
    this.space.replaceChildren(...(shown ? [shown] : []));
    if (hadFocus) this.list.focus({ preventScroll: true });
    this.#extra = shown ? shown.offsetHeight - this.#heightOf(visible[present]) : 0;
    if (shown) shown.style.top = `${this.#topOf(present)}px`;
    this.#rows = new Map(shown ? [[present, shown]] : []);
    this.space.style.height = `${this.#topOf(visible.length)}px`;
    if (reveals) {
      this.list.scrollTop = this.#revealing();
      this.#scroll = this.list.scrollTop;
    }
    this.list.setAttribute("aria-activedescendant", shown ? shown.id : "");
    this.#fill();
  }

  /** Scrolling brings rows into sight and takes others out; those that stay are left alone. */
  #fill() {
    const present = this.#present;
    const wanted = this.#placesInSight();
    for (const [place, row] of this.#rows) {
      if (wanted.has(place) || place === present) continue;
      row.remove();
      this.#rows.delete(place);
    }
    for (const place of wanted) {
      if (this.#rows.has(place)) continue;
      const row = this.#row(place, false);
      row.style.top = `${this.#topOf(place)}px`;
      this.#rows.set(place, row);
    }
    this.#putInOrder();
  }

  /** Screen readers take rows in the order of the page; those that are in their place are not moved. */
  #putInOrder() {
    let before = null;
    for (const [, row] of [...this.#rows].sort(([one], [other]) => one - other)) {
      if (row.parentElement !== this.space || row.previousElementSibling !== before) {
        if (before === null) this.space.prepend(row);
        else before.after(row);
      }
      before = row;
    }
  }

  #placesInSight() {
    if (this.store.visible.length === 0) return new Set();
    const first = this.#placeAt(this.#scroll - Penstock.StepList.MARGIN);
    const last = this.#placeAt(this.#scroll + this.#height + Penstock.StepList.MARGIN);
    return new Set(Array.from({ length: last - first + 1 }, (_, offset) => first + offset));
  }

  #row(place, isCurrent) {
    const { store } = this;
    const { run } = store;
    const { element } = Penstock.dom;
    const index = store.visible[place];
    const step = run.steps[index];
    const kinds = [
      "step",
      isCurrent && "current",
      run.isViolation(index) && "broken",
      `kind-${step.kind}`,
      run.hasRelevant && !step.relevant && "aside",
      this.matching.has(index) && "match",
    ];
    const details = run.detailsOf(index);
    const most = isCurrent ? details.length : Penstock.StepList.MOST_DETAILS;
    const row = element("div", {
      class: kinds.filter(Boolean).join(" "),
      id: `step-${step.n}`,
      role: "option",
      "aria-selected": String(isCurrent),
      "aria-setsize": store.visible.length,
      "aria-posinset": place + 1,
      "data-index": index,
      "data-place": place,
    });
    const title = element(
      "div",
      { class: "step-title" },
      element("span", { class: "number" }, String(step.n)),
      Penstock.marks.badge(step.kind),
      element("span", { class: "words" }, run.text(step.title)),
    );
    row.append(title);
    for (const text of details.slice(0, most)) row.append(element("div", { class: "detail" }, text));
    if (details.length > most)
      row.append(element("div", { class: "detail faint" }, `and ${details.length - most} more`));
    if (isCurrent) row.append(...this.#extras(step));
    return row;
  }

  /** What only the present step tells: the time, its packet, what caused it, what was lost. */
  #extras(step) {
    const { store } = this;
    const { run } = store;
    const { element, shortened } = Penstock.dom;
    const chips = [];
    if (step.at !== null) chips.push(element("span", { class: "faint" }, `at ${step.at / 1000} s`));
    if (step.packet !== null) {
      const isOn = store.filter.packet === step.packet;
      const chip = element(
        "button",
        { type: "button", class: "chip small", "aria-pressed": String(isOn) },
        `${isOn ? "all packets again" : `only ${shortened(run.text(step.packet), 24)}`}`,
      );
      chip.addEventListener("click", (event) => {
        event.stopPropagation();
        store.narrow({ packet: isOn ? null : step.packet });
      });
      chips.push(chip);
    }
    for (const number of step.causes.slice(0, 6)) {
      const chip = element("button", { type: "button", class: "chip small" }, `after ${number}`);
      chip.addEventListener("click", (event) => {
        event.stopPropagation();
        store.go(run.indexOfNumber.get(number) ?? store.step);
      });
      chips.push(chip);
    }
    const lost = step.lost.map((text) =>
      element("div", { class: "detail lost" }, `✗ lost: ${run.text(text)}`),
    );
    return chips.length ? [...lost, element("div", { class: "chips" }, ...chips)] : lost;
  }
};
