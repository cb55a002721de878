"use strict";
/* Light and dark: as the system says, until the reader chooses. */

Penstock.theme = (() => {
  const KEY = "penstock-theme";
  const root = document.documentElement;
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

  // A page opened from a disk may have no storage: the choice then lasts as long as the page.
  function remembered() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  }

  function remember(theme) {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      return;
    }
  }

  const isDark = () => (root.dataset.theme ?? (prefersDark.matches ? "dark" : "light")) === "dark";

  /** Let the reader choose; call `repaint` whenever the colours became different. */
  function wire(repaint) {
    const button = Penstock.dom.byId("theme");
    const refresh = () => {
      button.setAttribute("aria-label", isDark() ? "Switch to light" : "Switch to dark");
      repaint();
    };
    if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      remember(root.dataset.theme);
      refresh();
    });
    prefersDark.addEventListener("change", refresh);
    refresh();
  }

  return { wire };
})();
