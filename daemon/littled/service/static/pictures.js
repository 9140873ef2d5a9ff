// Pictures of rules: a number line for one cut, and the points of each column of a scorecard.

import { h, svg } from "./dom.js";

const SHOWN_COLUMNS = 12;
const BARS_MAX = 40;

/** A picture of a rule, or null where words say it better. */
export function pictureOf(rule) {
  if (rule.map.kind === "scorecard") return scorecard(rule);
  const cut = cutOf(rule);
  return cut ? line(rule, cut) : null;
}

/** Where a rule over one number changes: {share of the line, text}, or null. */
function cutOf(rule) {
  const { kind, threshold, size } = rule.map;
  if (kind !== "threshold" || threshold === 0 || threshold === size) return null;
  const [column] = rule.reading?.columns ?? [];
  if (rule.reading && column?.map.kind !== "number") return null;
  const edge = column ? column.edges.length && column.floats[threshold - column.first - 1] : threshold + (rule.words.offset ?? 0);
  if (edge === undefined) return null;
  const unit = column ? column.map.unit : rule.words.unit;
  return { share: threshold / size, text: `${edge}${unit ? ` ${unit}` : ""}` };
}

function line(rule, { share, text }) {
  const [width, left] = [600, 600 * share];
  const { negative = "0", positive = "1" } = rule.words;
  return svg(
    "svg",
    { viewBox: `0 0 ${width} 58`, role: "img", "aria-label": `${negative} below ${text}, ${positive} from there on` },
    svg("rect", { class: "no", x: 0, y: 14, width: left, height: 20 }),
    svg("rect", { class: "yes", x: left, y: 14, width: width - left, height: 20 }),
    svg("line", { class: "mark", x1: left, x2: left, y1: 8, y2: 40 }),
    svg("text", { x: 4, y: 29 }, negative),
    svg("text", { x: width - 4, y: 29, "text-anchor": "end" }, positive),
    svg("text", { x: Math.min(Math.max(left, 30), width - 30), y: 54, "text-anchor": "middle" }, text),
  );
}

function scorecard(rule) {
  const spread = (values) => Math.max(...values) - Math.min(...values);
  const places = rule.map.tables
    .map((values, place) => ({ values, place, spread: spread(values) }))
    .filter((one) => one.spread > 0)
    .sort((a, b) => b.spread - a.spread);
  const most = Math.max(1, ...places.flatMap(({ values }) => values.map(Math.abs)));
  const rest = places.length - SHOWN_COLUMNS;
  return h(
    "div",
    {},
    h("h4", {}, `${rule.words.positive} if the points of all columns are above ${-rule.map.constant}`),
    h("p", { class: "quiet" }, "As drawn here, points may be below 0. The sentence above counts each column from its least points, so that its number for the same rule is another one."),
    h("div", { class: "columns" }, places.slice(0, SHOWN_COLUMNS).map((one) => columnFigure(rule, one, most))),
    rest > 0 ? h("p", { class: "quiet" }, `${rest} more columns matter less.`) : null,
  );
}

function columnFigure(rule, { values, place }, most) {
  const feature = rule.reading?.features[place];
  const isNumber = feature === undefined || feature.kind === "number";
  const drawn = isNumber && values.length > 8 ? curve(rule, values, place, most) : bars(rule, values, place, most);
  return h("figure", {}, h("figcaption", {}, rule.columnName(place)), drawn);
}

/** The points of a number's buckets as steps from the left to the right. */
function curve(rule, values, place, most) {
  const [width, height] = [320, 90];
  const x = (bucket) => (width * bucket) / values.length;
  const y = (points) => height / 2 - (points / most) * (height / 2 - 6);
  const steps = values.map((points, bucket) => `L${x(bucket)},${y(points)} L${x(bucket + 1)},${y(points)}`).join(" ");
  const ends = [0, values.length - 1].map((bucket) => `${values[bucket]} where ${rule.say(place, bucket)}`);
  const column = rule.reading?.columns.find((one) => one.features.includes(rule.reading.features[place]));
  const unit = column?.map.unit ? ` ${column.map.unit}` : "";
  const [first, last] = column?.floats ? [column.floats[0], column.floats.at(-1)].map((edge) => `${edge}${unit}`) : [0, values.length - 1];
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height + 16}`, role: "img", "aria-label": `Points: ${ends.join(", ")}` },
    svg("line", { class: "zero", x1: 0, x2: width, y1: height / 2, y2: height / 2 }),
    svg("path", { class: "points", d: `M0,${y(values[0])} ${steps}` }),
    svg("text", { x: 0, y: height + 12 }, `< ${first}`),
    svg("text", { x: width, y: height + 12, "text-anchor": "end" }, `\u2265 ${last}`),
  );
}

/** The points of a few buckets as bars with their names. */
function bars(rule, values, place, most) {
  const feature = rule.reading?.features[place];
  const name = (bucket) => rule.say(place, bucket).replace(`${feature?.name ?? rule.columnName(place)} `, "").replace(/^(is|=) /, "");
  const order = values.map((points, bucket) => ({ points, bucket })).filter(({ points }) => points !== 0 || values.length <= BARS_MAX);
  return h(
    "dl",
    { class: "bars" },
    order.slice(0, BARS_MAX).flatMap(({ points, bucket }) => {
      const bar = h("dd", { class: "bar" }, h("span", { class: points > 0 ? "plus" : "minus" }));
      const share = (50 * Math.abs(points)) / most;
      bar.firstChild.style.width = `${share}%`;
      bar.firstChild.style.marginLeft = `${points > 0 ? 50 : 50 - share}%`;
      return [h("dt", { title: name(bucket) }, name(bucket)), bar, h("dd", { class: "number" }, String(points))];
    }),
  );
}
