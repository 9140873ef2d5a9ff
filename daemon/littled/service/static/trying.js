// A box to try a value: worked out in the page, so that the value stays in it.

import { LittledError } from "./client/littled.js";
import { h, put, table } from "./dom.js";

const SOMETHING_ELSE = "\u2026";
let fields = 0;

/** An input with its label beside it. */
function field(text, input) {
  fields += 1;
  input.id = `value-${fields}`;
  return h("div", { class: "field" }, h("label", { for: input.id }, text), input);
}

export class TryForm {
  constructor() {
    this.form = h("form", { class: "try", onsubmit: (event) => event.preventDefault(), oninput: () => this.answer() });
    this.said = h("p", { class: "answer", role: "status" });
    this.why = h("div", {});
    this.element = h("div", {}, h("h4", {}, "Try a value"), this.form, this.said, this.why);
    this.shape = null;
  }

  /** Ask for the values of a rule; what was typed stays where the columns are the same. */
  take(rule) {
    this.rule = rule;
    this.element.hidden = rule === null;
    if (rule === null) return;
    const shape = JSON.stringify([rule.words.reading ?? null, rule.words.x_name, rule.evaluator.xType]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.inputs = inputsOf(rule);
      put(this.form, this.inputs.map(({ shown }) => shown));
    }
    this.answer();
  }

  answer() {
    const values = this.inputs.map(({ value }) => value());
    put(this.why);
    this.said.classList.remove("refused");
    if (values.some((value) => value === undefined)) {
      this.said.textContent = "";
      return;
    }
    try {
      const value = this.rule.reading ? Object.fromEntries(this.rule.columns.map((name, i) => [name, values[i]])) : values[0];
      this.said.textContent = this.rule.word(value);
      if (this.rule.evaluator.points) put(this.why, explained(this.rule.explain(value)));
    } catch (error) {
      if (!(error instanceof LittledError)) throw error;
      this.said.classList.add("refused");
      this.said.textContent = error.message;
    }
  }
}

function explained({ columns, constant, total }) {
  const rows = columns.map(({ text, points }) => [signed(points), text]);
  rows.push([signed(constant), "constant"], [signed(total), `in all, which is ${total > 0 ? "" : "not "}above 0`]);
  return h("details", {}, h("summary", {}, "Why"), table("Points of this value", ["points", "because"], rows, [0]));
}

const signed = (number) => (number < 0 ? `\u2212${-number}` : `+${number}`);

/** For each value that a rule needs: an input with its label, and a function that reads it. */
function inputsOf(rule) {
  if (rule.reading) return rule.reading.columns.map(inputOf);
  const { x_name: what, unit } = rule.words;
  const isRow = rule.evaluator.xType.startsWith("u16x");
  const input = h("input", { type: "text", autocomplete: "off", placeholder: isRow ? "3,1,2" : "" });
  const text = `${what ?? "x"}${unit ? `, ${unit}` : ""}${isRow ? ", with commas between" : ""}`;
  const value = () => {
    if (input.value.trim() === "") return undefined;
    return isRow ? input.value.split(",").map((part) => part.trim()) : input.value;
  };
  return [{ shown: field(text, input), value }];
}

function inputOf(column) {
  const { kind, unit, missing } = column.map;
  const absent = missing === "bucket" ? null : undefined;
  if (kind === "category") return choiceOf(column);
  const type = { number: "number", time: "datetime-local" }[kind] ?? "text";
  const input = h("input", { type, autocomplete: "off", step: type === "number" ? "any" : null });
  const shown = field(`${column.name}${unit ? `, ${unit}` : ""}`, input);
  return { shown, value: () => (input.value.trim() === "" ? absent : input.value) };
}

function choiceOf(column) {
  const select = h("select", {}, h("option", { value: "" }, ""));
  column.values.forEach((word, i) => select.append(h("option", { value: `v${i}` }, word)));
  if (column.other) select.append(h("option", { value: "other" }, "something else"));
  if (column.first) select.append(h("option", { value: "missing" }, "missing"));
  const value = () => {
    if (select.value === "") return undefined;
    if (select.value === "missing") return null;
    return select.value === "other" ? SOMETHING_ELSE : column.values[Number(select.value.slice(1))];
  };
  return { shown: field(column.name, select), value };
}
