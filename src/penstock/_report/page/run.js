"use strict";
/* The run that is reported: its steps by index, and who sent what to whom.
 *
 * Steps are known by their index in the list; `n`, the number of the line in the trace, is what people
 * see. The index -1 means the moment before the first step. A live run grows: `extend` adds steps at the
 * end.
 */

Penstock.Run = class {
  /** @param {object} data the document as parsed from the page */
  constructor(data) {
    this.load(data);
  }

  /** Begin anew with another document, the whole of a run that was followed until now. */
  load(data) {
    this.data = data;
    this.strings = data.strings;
    this.lanes = data.lanes;
    this.steps = [];
    this.kindOfNode = new Map(data.topology.nodes.map((node) => [node.name, node.kind]));
    this.indexOfNumber = new Map();
    this.sender = [];
    this.receivers = [];
    this.longArrows = [];
    this.packets = new Map();
    this.kinds = new Map();
    this.changedBy = new Map();
    this.violations = [];
    this.relevant = 0;
    this.extend([], data.steps);
  }

  /** Take over what became known of a growing run: its verdict, its summary. */
  amend(facts) {
    Object.assign(this.data, facts);
    this.violations = this.steps.map((_, index) => index).filter((index) => this.isViolation(index));
  }

  /** Arrows over more steps than this are looked for one by one when a part of the run is drawn. */
  static LONG = 256;

  /** Add steps at the end, and the strings that they speak of. */
  extend(strings, steps) {
    for (const text of strings) this.strings.push(text);
    for (const step of steps) this.#add(step);
  }

  #add(step) {
    const index = this.steps.length;
    this.steps.push(step);
    this.indexOfNumber.set(step.n, index);
    this.receivers.push(null);
    const from = step.from === null ? undefined : this.indexOfNumber.get(step.from);
    this.sender.push(from === undefined ? -1 : from);
    if (from !== undefined) {
      (this.receivers[from] ??= []).push(index);
      if (index - from > Penstock.Run.LONG) this.longArrows.push(index);
    }
    if (step.packet !== null) this.packets.set(step.packet, (this.packets.get(step.packet) ?? 0) + 1);
    this.kinds.set(step.kind, (this.kinds.get(step.kind) ?? 0) + 1);
    step.changes ??= [];
    for (const [component] of step.changes) this.#note(this.text(component), index);
    if (this.isViolation(index)) this.violations.push(index);
    if (step.relevant) this.relevant += 1;
  }

  #note(component, index) {
    const indexes = this.changedBy.get(component);
    if (!indexes) this.changedBy.set(component, [index]);
    else if (indexes[indexes.length - 1] !== index) indexes.push(index);
  }

  /** Tell whether some steps led to the violation and others did not. */
  get hasRelevant() {
    return this.relevant > 0 && this.relevant < this.length;
  }

  /** How many steps there are. */
  get length() {
    return this.steps.length;
  }

  /** Return an interned text. */
  text(index) {
    return this.strings[index];
  }

  /** Tell whether a property is broken in this step. */
  isViolation(index) {
    const step = this.steps[index];
    const verdict = this.data.verdict;
    return step.kind === "violated" || (verdict !== null && verdict.step === step.n);
  }

  /** Return the index of the step that the verdict names, or -1. */
  get broken() {
    const verdict = this.data.verdict;
    return verdict === null ? -1 : (this.indexOfNumber.get(verdict.step) ?? this.violations.at(-1) ?? -1);
  }

  /** Return what is told of a step below its title. */
  detailsOf(index) {
    return this.steps[index].told.map((text) => this.text(text));
  }

  /**
   * Return what the arrow of a step's message is called: a packet's name, or the first word of any other
   * message, with the packet where the message carries one. A message that a packet only led to, as a FlowMod,
   * is never called by the packet's name.
   */
  labelOf(index) {
    const step = this.steps[index];
    const packet = step.packet === null ? "" : this.text(step.packet);
    if (step.message === null) return packet;
    const message = this.text(step.message);
    const head = Penstock.Run.headOf(message);
    if (Penstock.Run.isFrame(message)) return packet || head;
    return packet && Penstock.Run.CARRIES.test(head) ? `${head} ${packet}` : head;
  }

  /** What carries a packet between a switch and a controller. */
  static CARRIES = /^Packet(In|Out)$/;

  /** Tell whether a message is a packet on a wire: a name, if it has one, and what it is in brackets. */
  static isFrame(message) {
    return /^(\S+ )?\[[^]*\]$/.test(message);
  }

  /** Return the first word of a message: its name or the packet's tag. */
  static headOf(message) {
    return message.split(/[\s([]/, 1)[0] || message;
  }

  /** Tell whether what goes between two lanes is a word to or from a controller, not a packet. */
  isControl(lane, other) {
    return [lane, other].some((each) => this.kindOfNode.get(this.lanes[each]) === "controller");
  }

  /** Return the messages of a step that no later step receives: `[lane, text]` each. */
  unreceived(index) {
    const sends = this.steps[index].sends;
    if (sends.length === 0) return sends;
    const taken = new Map();
    for (const receiver of this.receivers[index] ?? []) {
      const lane = this.steps[receiver].lane;
      taken.set(lane, (taken.get(lane) ?? 0) + 1);
    }
    return sends.filter(([lane]) => {
      const left = taken.get(lane) ?? 0;
      if (left > 0) taken.set(lane, left - 1);
      return left === 0;
    });
  }

  /** Return the components that this step changed. */
  changedIn(index) {
    if (index < 0) return [];
    return [...new Set(this.steps[index].changes.map(([component]) => this.text(component)))];
  }

  /** Return the first index in a sorted list that is greater than `index`, or the very first, or -1. */
  static nextIn(indexes, index) {
    if (!indexes || indexes.length === 0) return -1;
    const after = indexes.find((each) => each > index);
    return after === undefined ? indexes[0] : after;
  }
};
