"use strict";
/* Which part of the space-time diagram is seen: how wide a step is, and what stands at the left and upper
 * edge.
 */

Penstock.Viewport = class {
  static WIDEST = 96;
  static READABLE = 15;
  static LANE = 19;
  static TOP = 30;

  constructor() {
    this.width = 0;
    this.height = 0;
    this.gutter = 60;
    this.scale = 24;
    this.left = 0;
    this.upper = 0;
    this.count = 0;
    this.lanes = 1;
  }

  /** Set how much room and how much to show there is. */
  measure({ width, height, gutter, count, lanes }) {
    Object.assign(this, { width, height, gutter, count, lanes });
    this.scale = Math.max(this.narrowest, Math.min(Penstock.Viewport.WIDEST, this.scale));
    this.#hold();
  }

  /** The room for steps, in pixels. */
  get room() {
    return Math.max(20, this.width - this.gutter - 14);
  }

  /** The width of a step at which all of them are seen. */
  get narrowest() {
    return Math.min(64, this.room / Math.max(1, this.count));
  }

  /** The height of a lane. */
  get lane() {
    const room = (this.height - Penstock.Viewport.TOP - 8) / Math.max(1, this.lanes);
    return Math.max(Penstock.Viewport.LANE, Math.min(84, room));
  }

  #hold() {
    const most = Math.max(0, this.count - this.room / this.scale);
    this.left = Math.max(0, Math.min(most, this.left));
    const lowest = Math.max(0, this.lanes * this.lane - (this.height - Penstock.Viewport.TOP - 4));
    this.upper = Math.max(0, Math.min(lowest, this.upper));
  }

  /** Return where the middle of a step is. */
  x(place) {
    return this.gutter + (place - this.left + 0.5) * this.scale;
  }

  /** Return where the line of a lane is. */
  y(lane) {
    return Penstock.Viewport.TOP + (lane + 0.5) * this.lane - this.upper;
  }

  /** Return the step at a point, which may be no whole number. */
  placeAt(x) {
    return (x - this.gutter) / this.scale + this.left - 0.5;
  }

  /** The first and last step whose middle is in sight. */
  get inSight() {
    const first = Math.max(0, Math.ceil(this.left - 0.5));
    return [first, Math.min(this.count - 1, Math.floor(this.left + this.room / this.scale - 0.5))];
  }

  /** The first and last step of which anything may be seen. */
  get seen() {
    const first = Math.max(0, Math.floor(this.left) - 1);
    return [first, Math.min(this.count - 1, Math.ceil(this.left + this.room / this.scale) + 1)];
  }

  /** Make steps wider or narrower around a point that stays where it is. */
  zoom(factor, x = this.gutter + this.room / 2) {
    const place = this.placeAt(x) + 0.5;
    this.scale = Math.max(this.narrowest, Math.min(Penstock.Viewport.WIDEST, this.scale * factor));
    this.left = place - (x - this.gutter) / this.scale;
    this.#hold();
  }

  /** Show everything. */
  fit() {
    this.scale = this.narrowest;
    this.left = 0;
    this.upper = 0;
    this.#hold();
  }

  /** Begin: all steps if they can be told apart, else as many as can. */
  open() {
    this.scale = Math.max(this.narrowest, Penstock.Viewport.READABLE);
    this.#hold();
  }

  /** Move by so many pixels. */
  pan(dx, dy) {
    this.left -= dx / this.scale;
    this.upper -= dy;
    this.#hold();
  }

  /** Bring a step, and its lane if it has one, into view. */
  reveal(place, lane) {
    const shown = this.room / this.scale;
    if (place < this.left + 0.5 || place > this.left + shown - 1.5) this.left = place - shown / 2;
    if (lane >= 0) {
      const y = this.y(lane);
      if (y < Penstock.Viewport.TOP + 6) this.upper -= Penstock.Viewport.TOP + this.lane - y;
      else if (y > this.height - 8) this.upper += y - this.height + this.lane;
    }
    this.#hold();
  }
};
