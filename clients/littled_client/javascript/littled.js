// littled for browsers and Node: follow what a daemon publishes, and use its rules. No dependencies.
//
//     import { Rule, releases } from "littled";
//
//     for await (const release of releases("http://127.0.0.1:8080", { learners: ["loans/default"] })) {
//       const rule = Rule.from(release);
//       rule.word({ income: 31000, grade: "B" }); // "yes" or "no"
//     }
//
// Rules are evaluated where this runs: no value leaves it.

import { Reading } from "./columns.js";
import { LittledError, check } from "./errors.js";
import { evaluator } from "./rules.js";
import { addressNumber, ipv4Number, shownAddress, stringDigits, wholeNumber } from "./values.js";

export { LittledError } from "./errors.js";
export { releases, watch } from "./events.js";
export { shownAddress } from "./values.js";

const WIDE = "u128";

/** A published rule, and what its points and labels stand for. */
export class Rule {
  /**
   * The rule of a release: the JSON of GET /rules/STREAM/LEARNER, of events, and of exported files.
   *
   * Throws LittledError where there is none, or no words that say what its points stand for.
   */
  static from(release) {
    check(release?.rule, "this release carries no rule");
    check(release.words, "a rule without words is about points of which nothing is known");
    return new Rule(release.rule, release.words, release.text ?? null);
  }

  constructor(map, words, text = null) {
    this.map = map;
    this.words = words;
    this.text = text; // the rule in one line
    this.reading = words.reading ? new Reading(words.reading) : null;
    this.evaluator = evaluator(map);
  }

  /** The names of the columns that a row needs, in order; none where a value is no row. */
  get columns() {
    return this.reading ? this.reading.names : [];
  }

  /**
   * The label, 0 or 1, of a value: an object with a value for each column, or where the rule has no
   * columns a number in the stream's unit, an address, an array of numbers, or a text.
   *
   * Throws LittledError for a value that is none of the stream's.
   */
  label(value) {
    return this.evaluate(this.point(value));
  }

  /** The word for the label of a value. */
  word(value) {
    return this.label(value) ? this.words.positive : this.words.negative;
  }

  /** The label, 0 or 1, of a point. */
  evaluate(point) {
    return Number(this.evaluator.label(point));
  }

  /**
   * Why a value has its label: {label, word, total, constant, columns}, where each of the columns is
   * {column, text, points}, those with the most points first. Of scorecards alone (LittledError).
   */
  explain(value) {
    check(this.evaluator.points, `only a scorecard has points to explain, which a ${this.map.kind} rule is not`);
    const point = this.point(value);
    const [points, buckets] = [this.evaluator.points(point), this.evaluator.rows(point)];
    const columns = points.map((added, place) => {
      const bucket = Math.min(buckets[place], this.map.tables[place].length - 1);
      return { column: this.columnName(place), text: this.say(place, bucket), points: added };
    });
    columns.sort((a, b) => Math.abs(b.points) - Math.abs(a.points));
    const { constant } = this.evaluator;
    const total = points.reduce((sum, one) => sum + one, constant);
    const label = Number(total > 0);
    return { label, word: label ? this.words.positive : this.words.negative, total, constant, columns };
  }

  /** What a bucket of a scorecard's column means, "grade is D". */
  say(place, bucket) {
    if (this.reading) return this.reading.features[place].say(bucket);
    const unit = this.words.unit ? ` ${this.words.unit}` : "";
    return `${this.columnName(place)} = ${bucket + (this.words.offset ?? 0)}${unit}`;
  }

  columnName(place) {
    if (this.reading) return this.reading.features[place].name;
    const name = this.words.x_name ?? "x";
    return this.map.tables.length > 1 ? `feature ${place} of ${name}` : name;
  }

  /** The point of a value; throws LittledError for a value that is none of the stream's. */
  point(value) {
    if (this.reading) return this.reading.point(value);
    const type = this.evaluator.xType;
    if (type.startsWith("bytes")) {
      const size = Number(type.slice("bytes".length));
      check(stringDigits(value, size) !== null, `a value needs a text of at most ${size} bytes`);
      return value;
    }
    if (!type.startsWith("u16x")) return this.number(value, type);
    const width = Number(type.slice("u16x".length));
    check(Array.isArray(value) && value.length === width, `a value needs a row of ${width} features`);
    return value.map((one) => this.number(one, "u16"));
  }

  number(value, type) {
    if (type === WIDE) {
      const wide = addressNumber(value, { exact: false });
      check(wide !== null, "a value needs to be an address, a UUID or an integer of at most 128 bits");
      return wide;
    }
    const written = (type === "u32" ? ipv4Number(value) : null) ?? wholeNumber(value);
    check(written !== null, "a value needs to be an integer");
    const point = written - BigInt(this.words.offset ?? 0);
    const bits = Number(type.slice(1));
    check(point >= 0n && point >> BigInt(bits) === 0n, `a value is outside of the ${bits} bits of its points`);
    return bits <= 32 ? Number(point) : point;
  }

  /** A point of an id or address as people read it. */
  shown(point) {
    const [one] = this.reading?.columns ?? [];
    if (one?.map.kind === "address") return shownAddress(point, one.width);
    throw new LittledError("only points of addresses are shown");
  }
}
