"use strict";
/* A run that still goes on: its server sends what is new, and in the end the whole with its states. */

Penstock.live = (() => {
  async function finish(store) {
    const answer = await fetch("document.json");
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    store.replace(await answer.json());
  }

  function take(store, news) {
    const { steps = [], strings = [], ended = false, ...facts } = news;
    if (strings.length || steps.length) store.grow(strings, steps);
    if (Object.keys(facts).length) store.amend(facts);
    return ended;
  }

  /** Follow a run that is served and not over; tell in a badge whether its server is heard. */
  function follow(store) {
    const { run } = store;
    if (!run.data.served || !run.data.live) return;
    const last = () => (run.length ? run.steps[run.length - 1].n : 0);
    const badge = (text) => {
      const found = Penstock.dom.byId("live-badge");
      if (found) found.textContent = text;
    };
    let source = null;
    const listen = () => {
      source = new EventSource(`events?after=${last()}&strings=${run.strings.length}`);
      source.onopen = () => badge("live");
      source.onmessage = async (event) => {
        if (!take(store, JSON.parse(event.data))) return;
        source.close();
        try {
          await finish(store);
        } catch (error) {
          badge("over");
          Penstock.dom.byId("announcer").textContent =
            `The run is over, but its states did not come: ${error.message}.`;
        }
      };
      // What the address says must be up to date, so the browser's own reconnecting will not do.
      source.onerror = () => {
        source.close();
        badge("waiting");
        setTimeout(listen, 2000);
      };
    };
    store.follows = true;
    listen();
  }

  return { follow };
})();
