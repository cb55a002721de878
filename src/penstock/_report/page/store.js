"use strict";
/* What the reader looks at: the present step, the component, the filter. Views are told what became
 * different.
 */

Penstock.Store = class {
  #views = [];

  /** @param {Penstock.Run} run */
  constructor(run) {
    this.run = run;
    this.states = new Penstock.States(run);
    this.step = -1;
    this.component = null;
    this.filter = Penstock.filtering.ALL;
    this.visible = Penstock.filtering.visible(run, this.filter);
    this.query = "";
    this.follows = false;
  }

  /** Call `view(changed)` after every change, with the set of what changed.
   *
   * That is any of `step`, `component`, `filter`, `query`, `run` (it has more steps) and `facts` (about it).
   */
  subscribe(view) {
    this.#views.push(view);
  }

  #tell(...changed) {
    const set = new Set(changed);
    for (const view of this.#views) view(set);
  }

  /** Go to the step with this index; -1 is the beginning. */
  go(index) {
    const within = Math.max(-1, Math.min(this.run.length - 1, index));
    this.follows = within === this.run.length - 1;
    if (within === this.step) return;
    this.step = within;
    this.#tell("step");
  }

  /** Go so many shown steps on, or back. */
  move(by) {
    const place = Penstock.filtering.placeOf(this.visible, this.step);
    // Between two shown steps, going back means to the one before.
    const isBetween = by < 0 && place >= 0 && this.visible[place] !== this.step;
    const wanted = Math.min(this.visible.length - 1, place + by + (isBetween ? 1 : 0));
    this.go(wanted < 0 ? -1 : this.visible[wanted]);
  }

  /** Show a component's state, or with null what each step changed. */
  pick(component) {
    if (component === this.component) return;
    this.component = component;
    this.#tell("component");
  }

  /** Change a part of the filter. */
  narrow(part) {
    this.filter = Object.freeze({ ...this.filter, ...part });
    this.visible = Penstock.filtering.visible(this.run, this.filter);
    this.#tell("filter");
  }

  /** Search for a text in the steps. */
  seek(query) {
    if (query === this.query) return;
    this.query = query;
    this.#tell("query");
  }

  /** Add steps of a growing run; whoever looks at its end goes on doing so. */
  grow(strings, steps) {
    const known = this.run.length;
    this.run.extend(strings, steps);
    for (let index = known; index < this.run.length; index++) {
      if (Penstock.filtering.passes(this.run, this.filter, index)) this.visible.push(index);
    }
    const moved = this.follows && this.step !== this.run.length - 1;
    if (moved) this.step = this.run.length - 1;
    this.#tell("run", ...(moved ? ["step"] : []));
  }

  /** Take over what became known of a growing run. */
  amend(facts) {
    this.run.amend(facts);
    this.#tell("facts");
  }

  /** Show the whole of a run that was followed until now, at the same step. */
  replace(data) {
    const number = this.step < 0 ? null : this.run.steps[this.step].n;
    this.run.load(data);
    this.states = new Penstock.States(this.run);
    this.step = number === null ? -1 : (this.run.indexOfNumber.get(number) ?? this.run.length - 1);
    this.visible = Penstock.filtering.visible(this.run, this.filter);
    this.#tell("run", "facts", "step", "filter");
  }
};
