"use strict";
/* Putting the page together. */

(() => {
  const { byId, element } = Penstock.dom;
  const run = new Penstock.Run(JSON.parse(byId("document").textContent));
  const store = new Penstock.Store(run);

  Penstock.masthead.show(store);
  const about = () => {
    const { minimised, coverage, summary, tale } = Penstock;
    const asides = [minimised, coverage, summary]
      .map((part) => part.section(run))
      .filter((each) => each !== null);
    const side = asides.length ? element("div", { class: "asides" }, ...asides) : null;
    byId("about").replaceChildren(...[tale.section(store), side].filter((each) => each !== null));
  };
  about();
  byId("workbench").classList.toggle("empty", run.length === 0 && run.data.live !== true);

  new Penstock.Topology(byId("topology"), store);
  const diagram = new Penstock.SpaceTime(byId("canvas"), store);
  const list = new Penstock.StepList(byId("steps"), byId("steps-space"), store);
  const zooming = Penstock.gestures.wire(diagram, byId("tip"));
  const search = new Penstock.Search(store, list, diagram);
  const filters = new Penstock.Filters(store);
  const panel = new Penstock.Panel(store);
  const playback = new Penstock.Playback(store);
  Penstock.keyboard.wire({ playback, search, filters, panel, zooming, store });
  Penstock.theme.wire(() => diagram.recolour());
  store.subscribe((changed) => {
    if (changed.has("facts")) about();
  });

  if (!playback.openAddress())
    store.go(run.broken >= 0 ? run.broken : run.data.live ? run.length - 1 : Math.min(0, run.length - 1));
  Penstock.live.follow(store);
  // When the first frame is painted all checkpoints are made: the first jump is then as quick as others.
  requestAnimationFrame(() =>
    setTimeout(() => {
      store.states.at(run.length - 1);
      requestAnimationFrame(() => {
        performance.mark("penstock-ready");
        document.documentElement.dataset.ready = "true";
      });
    }),
  );
})();
