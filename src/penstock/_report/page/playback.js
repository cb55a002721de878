"use strict";
/* Going through the run: buttons, slider, playing, and the address that remembers the step. */

Penstock.Playback = class {
  static PACE = 1000;

  #timer = 0;
  #address = 0;

  /** @param {Penstock.Store} store */
  constructor(store) {
    const { byId } = Penstock.dom;
    this.store = store;
    this.slider = byId("slider");
    this.button = byId("play");
    this.isPlaying = false;
    const actions = {
      first: () => this.first(),
      back: () => this.step(-1),
      play: () => this.toggle(),
      forward: () => this.step(1),
      last: () => this.last(),
      "next-violation": () => this.nextViolation(),
    };
    for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", action);
    this.slider.addEventListener("input", () => {
      const place = Number(this.slider.value) - 1;
      this.store.go(place < 0 ? -1 : this.store.visible[place]);
    });
    window.addEventListener("hashchange", () => this.openAddress());
    store.subscribe((changed) => {
      if (["step", "filter", "run", "facts"].some((each) => changed.has(each))) this.#refresh(changed);
    });
    this.#refresh(new Set(["filter"]));
  }

  /** Go to the step that the address names; tell whether it names one. */
  openAddress() {
    const number = /^#(\d+)$/.exec(location.hash)?.[1];
    if (number === undefined) return false;
    if (Number(number) === 0) this.store.go(-1);
    else {
      const index = this.store.run.indexOfNumber.get(Number(number));
      if (index === undefined) return false;
      this.store.go(index);
    }
    return true;
  }

  /** Go one shown step on or back. */
  step(by) {
    this.pause();
    this.store.move(by);
  }

  /** Go to the beginning, before the first step. */
  first() {
    this.pause();
    this.store.go(-1);
  }

  /** Go to the last shown step. */
  last() {
    this.pause();
    this.store.go(this.store.visible.at(-1) ?? -1);
  }

  /** Go to the next step that breaks a property; after the last one comes the first. */
  nextViolation() {
    this.pause();
    const next = Penstock.Run.nextIn(this.store.run.violations, this.store.step);
    if (next >= 0) this.store.go(next);
  }

  /** Play, or stop playing. */
  toggle() {
    if (this.isPlaying) {
      this.pause();
      return;
    }
    if (this.store.step >= (this.store.visible.at(-1) ?? -1)) this.store.go(-1);
    this.#setPlaying(true);
    this.#tick();
  }

  /** Stop playing. */
  pause() {
    clearTimeout(this.#timer);
    if (this.isPlaying) this.#setPlaying(false);
  }

  #setPlaying(isPlaying) {
    this.isPlaying = isPlaying;
    this.button.setAttribute("aria-label", isPlaying ? "Pause" : "Play");
    this.button.title = `${isPlaying ? "Pause" : "Play"} (space)`;
    this.button.replaceChildren(Penstock.dom.icon(isPlaying ? "pause" : "play"));
  }

  #tick() {
    this.store.move(1);
    if (this.store.step >= (this.store.visible.at(-1) ?? -1)) {
      this.pause();
      return;
    }
    const speed = Number(Penstock.dom.byId("speed").value);
    this.#timer = setTimeout(() => this.#tick(), Penstock.Playback.PACE / speed);
  }

  #refresh(changed) {
    const { byId } = Penstock.dom;
    const { run, visible, step: index } = this.store;
    const place = Penstock.filtering.placeOf(visible, index) + 1;
    this.slider.max = String(visible.length);
    this.slider.value = String(place);
    const step = index < 0 ? null : run.steps[index];
    const title = step === null ? "The beginning" : `Step ${step.n}: ${run.text(step.title)}`;
    this.slider.setAttribute("aria-valuetext", title);
    const time = step !== null && step.at !== null ? ` · ${step.at / 1000} s` : "";
    const last = run.length ? run.steps[run.length - 1].n : 0;
    byId("position").textContent = step === null ? `beginning of ${last}` : `${step.n} of ${last}${time}`;
    for (const id of ["first", "back"]) byId(id).disabled = index < 0;
    for (const id of ["forward", "last"]) byId(id).disabled = place >= visible.length;
    byId("next-violation").hidden = run.violations.length === 0;
    if (changed.has("step")) this.#remember(step, title);
    if (changed.has("filter") || changed.has("run") || changed.has("facts")) this.#markViolations();
  }

  /** Browsers allow few changes of the address in a second; readers hear only where they stop. */
  #remember(step, title) {
    clearTimeout(this.#address);
    this.#address = setTimeout(() => {
      history.replaceState(null, "", `#${step === null ? 0 : step.n}`);
      Penstock.dom.byId("announcer").textContent = title;
    }, 200);
  }

  #markViolations() {
    const { run, visible } = this.store;
    const places = run.violations.map((index) => Penstock.filtering.placeOf(visible, index) + 1);
    const parts = new Set(places.map((place) => Math.round((place / Math.max(1, visible.length)) * 400) / 4));
    const marks = [...parts].map((part) => {
      const mark = Penstock.dom.element("span", {});
      mark.style.left = `${part}%`;
      return mark;
    });
    Penstock.dom.byId("slider-marks").replaceChildren(...marks);
  }
};
