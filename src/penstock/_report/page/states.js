"use strict";
/* What every component holds at any step: the state before the first one with the changes since applied.
 *
 * A state maps component and section to lines. Lists of lines are never changed in place, so that a
 * checkpoint is a copy of the map alone. One is kept every `EVERY` steps, made when a step beyond it is
 * first asked for.
 */

Penstock.States = class {
  static EVERY = 200;

  #latest = null;

  /** @param {Penstock.Run} run */
  constructor(run) {
    this.run = run;
    const start = new Map();
    for (const [component, section, lines] of run.data.start) {
      Penstock.States.#sectionsOf(start, component).set(section, lines);
    }
    this.checkpoints = [start];
  }

  static #sectionsOf(state, component) {
    let sections = state.get(component);
    if (!sections) state.set(component, (sections = new Map()));
    return sections;
  }

  /** Return the state after the step with this index; -1 is the state before all steps. */
  at(index) {
    // Several views ask for the same state at the same time.
    if (this.#latest?.index !== index) this.#latest = { index, state: this.#made(index) };
    return this.#latest.state;
  }

  #made(index) {
    const every = Penstock.States.EVERY;
    const wanted = index + 1;
    let kept = Math.min(Math.floor(wanted / every), this.checkpoints.length - 1);
    let state = this.#copy(this.checkpoints[kept]);
    for (let taken = kept * every; taken < wanted; taken++) {
      this.#apply(state, this.run.steps[taken]);
      if ((taken + 1) % every === 0 && (taken + 1) / every === this.checkpoints.length) {
        this.checkpoints.push(state);
        state = this.#copy(state);
      }
    }
    return state;
  }

  #copy(state) {
    return new Map([...state].map(([component, sections]) => [component, new Map(sections)]));
  }

  #apply(state, step) {
    for (const [component, section, removed, added] of step.changes) {
      const sections = Penstock.States.#sectionsOf(state, component);
      const lines = Penstock.States.#without(sections.get(section) ?? [], removed).concat(added);
      sections.set(section, lines);
    }
  }

  static #without(lines, removed) {
    if (removed.length === 0) return lines;
    const left = new Map();
    for (const line of removed) left.set(line, (left.get(line) ?? 0) + 1);
    return lines.filter((line) => {
      const count = left.get(line) ?? 0;
      if (count > 0) left.set(line, count - 1);
      return count === 0;
    });
  }

  /** Return what a component holds at a step, with what it changed: `[{name, lines, removed, added}]`. */
  sectionsAt(index, component) {
    const run = this.run;
    const key = this.#keyOf(component);
    const sections = this.at(index).get(key) ?? new Map();
    const changes = new Map();
    for (const [changed, section, removed, added] of index < 0 ? [] : run.steps[index].changes) {
      if (changed !== key) continue;
      const known = changes.get(section) ?? { removed: [], added: [] };
      changes.set(section, { removed: known.removed.concat(removed), added: known.added.concat(added) });
    }
    const told = [...sections].map(([section, lines]) => {
      const { removed, added } = changes.get(section) ?? { removed: [], added: [] };
      return {
        name: run.text(section),
        lines: Penstock.States.#without(lines, added).map((line) => run.text(line)),
        removed: removed.map((line) => run.text(line)),
        added: added.map((line) => run.text(line)),
      };
    });
    return told.sort((one, other) => one.name.localeCompare(other.name, "en", { numeric: true }));
  }

  #keyOf(component) {
    for (const key of this.checkpoints[0].keys()) if (this.run.text(key) === component) return key;
    return this.run.strings.indexOf(component);
  }

  /** Return the names of all components that have a state at some time. */
  components() {
    const named = [...this.checkpoints[0].keys()].map((key) => this.run.text(key));
    return [...new Set([...named, ...this.run.changedBy.keys()])];
  }
};
