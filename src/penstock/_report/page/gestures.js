"use strict";
/* Wheel, drag, pinch and click on the space-time diagram. */

Penstock.gestures = (() => {
  const FAR = 4;

  function wheel(diagram, event) {
    event.preventDefault();
    const { view } = diagram;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      view.pan(-(event.deltaX || event.deltaY), 0);
    else view.zoom(Math.exp(-event.deltaY * 0.0022), event.offsetX);
    diagram.redraw();
  }

  function showTip(diagram, event, tip) {
    const { store } = diagram;
    const index = diagram.stepAt(event.offsetX, event.offsetY);
    diagram.hovered = event.offsetX < diagram.view.gutter ? -1 : index;
    tip.hidden = diagram.hovered < 0;
    if (!tip.hidden) {
      const step = store.run.steps[index];
      tip.textContent = Penstock.dom.shortened(`${step.n}. ${store.run.text(step.title)}`, 160);
      const room = diagram.view.width - tip.offsetWidth - 8;
      tip.style.left = `${Math.max(4, Math.min(room, event.offsetX + 12))}px`;
      const below = event.offsetY + 18;
      const fits = below + tip.offsetHeight < diagram.view.height;
      tip.style.top = `${fits ? below : event.offsetY - tip.offsetHeight - 10}px`;
    }
    diagram.redraw();
  }

  /** Let the reader zoom, move and choose steps with pointer and wheel. */
  function wire(diagram, tip) {
    const { canvas, store, view } = diagram;
    const held = new Map();
    let moved = false;
    canvas.addEventListener("wheel", (event) => wheel(diagram, event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      held.set(event.pointerId, { x: event.clientX, y: event.clientY });
      moved = false;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = held.get(event.pointerId);
      if (!before) {
        showTip(diagram, event, tip);
        return;
      }
      const [dx, dy] = [event.clientX - before.x, event.clientY - before.y];
      if (!moved && Math.hypot(dx, dy) < FAR) return;
      moved = true;
      tip.hidden = true;
      const others = [...held].filter(([id]) => id !== event.pointerId).map(([, spot]) => spot);
      if (others.length) {
        const gap = (spot) => Math.max(20, Math.abs(spot.x - others[0].x));
        view.zoom(gap({ x: event.clientX }) / gap(before), event.offsetX);
      } else {
        view.pan(dx, dy);
      }
      held.set(event.pointerId, { x: event.clientX, y: event.clientY });
      diagram.redraw();
    });
    const release = (event) => {
      if (held.delete(event.pointerId) && !moved && event.type === "pointerup") {
        const component = diagram.componentAt(event.offsetX, event.offsetY);
        if (component !== null) store.pick(component);
        else if (event.offsetX >= view.gutter) store.go(diagram.stepAt(event.offsetX, event.offsetY));
      }
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => {
      tip.hidden = true;
      diagram.hovered = -1;
      diagram.redraw();
    });
    const zoom = (factor) => {
      view.zoom(factor);
      diagram.redraw();
    };
    const fit = () => {
      view.fit();
      diagram.redraw();
    };
    Penstock.dom.byId("zoom-in").addEventListener("click", () => zoom(1.5));
    Penstock.dom.byId("zoom-out").addEventListener("click", () => zoom(1 / 1.5));
    Penstock.dom.byId("zoom-fit").addEventListener("click", fit);
    return { zoom, fit };
  }

  return { wire };
})();
