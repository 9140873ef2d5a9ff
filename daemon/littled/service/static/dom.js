// Elements, made without markup: the page's policy lets nothing turn text into elements.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes, listeners (`onclick`), and children: elements and texts. */
export function h(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same for drawings. */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Replace what an element holds. */
export function put(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

/** A bar whose parts are {kind, share, title}, shares of the whole from 0 to 1. */
export function gauge(label, parts) {
  const bar = h("div", { class: "gauge", role: "img", "aria-label": label });
  for (const { kind, share } of parts) {
    const part = h("span", { class: kind });
    part.style.width = `${100 * Math.max(0, Math.min(1, share))}%`;
    bar.append(part);
  }
  return bar;
}

/** A table with a caption; cells that are numbers stand at the right. */
export function table(caption, heads, rows, numeric = []) {
  const kind = (place) => (numeric.includes(place) ? { class: "number" } : {});
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, heads.map((head, i) => h("th", { scope: "col", ...kind(i) }, head)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) => h("td", kind(i), String(cell)))))),
    ),
  );
}

const GROUPED = new Intl.NumberFormat("en");

/** A whole number with its thousands apart. */
export const grouped = (number) => GROUPED.format(number);

/** A number with few digits: 0.034, 1.9, 12, 1e-6. */
export function short(number) {
  const few = Number(number.toPrecision(3));
  return few !== 0 && Math.abs(few) < 0.001 ? few.toExponential() : String(few);
}

/** A share as a percentage. */
export const percent = (share) => `${short(100 * share)} %`;
