"use strict";
/* Which steps are shown. A step that breaks a property always is: it is what the page is about. */

Penstock.filtering = (() => {
  /** The filter that lets everything through. */
  const ALL = Object.freeze({ lanes: null, kinds: null, packet: null, relevant: false });

  /** Tell whether a filter leaves anything out. */
  function isActive(filter) {
    return filter.lanes !== null || filter.kinds !== null || filter.packet !== null || filter.relevant;
  }

  function passes(run, filter, index) {
    const step = run.steps[index];
    if (run.isViolation(index)) return true;
    if (filter.relevant && !step.relevant) return false;
    if (filter.kinds !== null && !filter.kinds.has(step.kind)) return false;
    if (filter.packet !== null && step.packet !== filter.packet) return false;
    return filter.lanes === null || filter.lanes.has(step.lane);
  }

  /** Return the indexes of the steps that pass, in order. */
  function visible(run, filter) {
    const indexes = [];
    for (let index = 0; index < run.length; index++) if (passes(run, filter, index)) indexes.push(index);
    return indexes;
  }

  /** Return where in a sorted list the last index not after `index` stands; -1 if all are after it. */
  function placeOf(indexes, index) {
    let low = 0;
    let high = indexes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (indexes[middle] <= index) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  return { ALL, isActive, passes, visible, placeOf };
})();
