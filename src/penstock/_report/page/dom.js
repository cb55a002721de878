"use strict";
/* Building elements. Whatever a report says is set as text, never read as HTML. */

/** The one global name of the page; each script adds a part to it. */
const Penstock = {};

Penstock.dom = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  /** Return the element of the page with this id. */
  function byId(id) {
    return document.getElementById(id);
  }

  function filled(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined && value !== false) {
        node.setAttribute(name, value === true ? "" : String(value));
      }
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  /** Make an HTML element; strings among its children become text. */
  function element(tag, attributes = {}, ...children) {
    return filled(document.createElement(tag), attributes, children);
  }

  /** Make an SVG element. */
  function drawn(tag, attributes = {}, ...children) {
    return filled(document.createElementNS(SVG, tag), attributes, children);
  }

  /** Make an icon from the page's symbols. */
  function icon(name) {
    return drawn("svg", { class: "icon", "aria-hidden": "true" }, drawn("use", { href: `#icon-${name}` }));
  }

  /** Shorten a text for a narrow place. */
  function shortened(text, most) {
    return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
  }

  /** Write a count with separators, and the word for it in the right number. */
  function counted(count, word, words = `${word}s`) {
    return `${count.toLocaleString("en-GB")} ${count === 1 ? word : words}`;
  }

  /** Tell whether the reader asked for less motion. */
  function wantsCalm() {
    return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  }

  return { byId, element, drawn, icon, shortened, counted, wantsCalm };
})();
