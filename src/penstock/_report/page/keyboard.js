"use strict";
/* Everything by keys, and the list of them. */

Penstock.keyboard = (() => {
  const { byId, element } = Penstock.dom;

  const KEYS = [
    [["→", "↓", "j"], "step forward"],
    [["←", "↑", "k"], "step back"],
    [["Page Down", "Page Up"], "ten steps on or back"],
    [["Home", "End"], "beginning, end"],
    [["space"], "play, stop"],
    [["v"], "next violation"],
    [["c"], "next change of the chosen component"],
    [["+", "−"], "zoom the diagram"],
    [["0"], "show the whole diagram"],
    [["/"], "search; Enter goes on, Shift+Enter back"],
    [["f"], "filter by component, kind, packet"],
    [["r"], "only what led to the violation"],
    [["w"], "what changed"],
    [["t"], "light or dark"],
    [["Escape"], "leave search, filter or an enlarged part"],
    [["?"], "this help"],
  ];

  function actionsFor({ playback, search, filters, panel, zooming, store }) {
    const forward = () => playback.step(1);
    const back = () => playback.step(-1);
    return {
      ArrowRight: forward,
      ArrowDown: forward,
      j: forward,
      ArrowLeft: back,
      ArrowUp: back,
      k: back,
      PageDown: () => playback.step(10),
      PageUp: () => playback.step(-10),
      Home: () => playback.first(),
      End: () => playback.last(),
      " ": () => playback.toggle(),
      v: () => playback.nextViolation(),
      c: () => panel.goToNextChange(),
      "+": () => zooming.zoom(1.5),
      "=": () => zooming.zoom(1.5),
      "-": () => zooming.zoom(1 / 1.5),
      "−": () => zooming.zoom(1 / 1.5),
      0: () => zooming.fit(),
      "/": () => search.focus(),
      f: () => filters.toggle(),
      r: () => {
        if (store.run.hasRelevant) store.narrow({ relevant: !store.filter.relevant });
      },
      w: () => store.pick(null),
      t: () => byId("theme").click(),
      "?": () => byId("help").showModal(),
      Escape: () => leave(filters),
    };
  }

  function leave(filters) {
    const enlarged = document.querySelector(".enlarge[aria-pressed=true]");
    if (enlarged) enlarged.click();
    else if (!byId("filters").hidden) filters.toggle(false);
  }

  /** Tell whether a key belongs to the element that has the focus. */
  function isTaken(event) {
    const { target, key } = event;
    if (target.closest("dialog")) return true;
    if (target.matches("input[type=search], textarea")) return true;
    if (target.matches("select"))
      return key.startsWith("Arrow") || key === " " || /^[a-z]$/.test(key) || key === "Home" || key === "End";
    if (target.matches("button, summary, input[type=checkbox]")) return key === " " || key === "Enter";
    if (target.matches("input[type=range]")) return /^(Arrow|Page|Home|End)/.test(key);
    // The state scrolls by these keys when the focus is in it.
    return target.closest("#state") !== null && /^(ArrowUp|ArrowDown|Page)/.test(key);
  }

  function wireEnlarging() {
    for (const button of document.querySelectorAll(".enlarge")) {
      button.addEventListener("click", () => {
        const isOn = byId("workbench").dataset.enlarged === button.dataset.enlarges;
        if (isOn) delete byId("workbench").dataset.enlarged;
        else byId("workbench").dataset.enlarged = button.dataset.enlarges;
        for (const each of document.querySelectorAll(".enlarge")) {
          each.setAttribute("aria-pressed", String(!isOn && each === button));
        }
      });
    }
  }

  /** Listen to keys, and fill the help. */
  function wire(parts) {
    const actions = actionsFor(parts);
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTaken(event)) return;
      const action = actions[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    });
    const rows = KEYS.flatMap(([keys, does]) => [
      element("dt", {}, ...keys.map((key) => element("kbd", {}, key))),
      element("dd", {}, does),
    ]);
    byId("help-keys").append(...rows);
    byId("help-open").addEventListener("click", () => byId("help").showModal());
    byId("help-close").addEventListener("click", () => byId("help").close());
    byId("skip").addEventListener("click", () => byId("steps").focus());
    wireEnlarging();
  }

  return { wire };
})();
