// Columns of tables: from a value, as people have it, to the numbers of buckets, and words for them.
//
// The same as Python's encoder: one value has one meaning everywhere. A column is the map that a
// rule's words carry, {kind: "number", name: "income", from: "0", to: "200000", steps: 64, ...}.

import {
  absolute, add, betweenLogs, compare, decimal, digitsOf, divide, multiply, plain, rounded, subtract, whole,
} from "./decimals.js";
import { LittledError, check } from "./errors.js";
import { addressNumber, cellText, idNumber, ipv4Number, isMissing, numberOf, wholeNumber } from "./values.js";
import { localTime } from "./times.js";

const WORKING_DIGITS = 40;
const COMPARED_DIGITS = 28;
const [SHORT_DIGITS, LONG_DIGITS] = [3, 15];

const MONTHS = [
  "January", "February", "March", "April", "May", "June",
  "July", "August", "September", "October", "November", "December",
];
const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const numbers = (first, count) => Array.from({ length: count }, (_, i) => String(first + i));
const PARTS = {
  month: MONTHS, day: numbers(1, 31), weekday: WEEKDAYS, hour: numbers(0, 24), minute: numbers(0, 60),
};

/** The column of a map: its `features`, and `read`, which finds a value's numbers. */
export function column(map) {
  check(Object.hasOwn(COLUMNS, map?.kind), `a column of kind ${map?.kind} is not known here`);
  return new COLUMNS[map.kind](map);
}

class Column {
  constructor(map) {
    this.name = map.name;
    this.map = map;
    this.first = Number(map.missing === "bucket"); // the first bucket of a value that is known
  }

  refuse(sentence) {
    throw new LittledError(`column ${this.name} ${sentence}`);
  }

  /** The buckets of each feature where a value is missing. */
  ofMissing() {
    if (!this.first) this.refuse("is empty, and its missing values are refused");
    return this.features.map(() => 0);
  }
}

class NumberColumn extends Column {
  constructor(map) {
    super(map);
    this.edges = map.edges ? map.edges.map(decimal) : cut(map);
    const size = this.edges.length + 1 + this.first;
    this.floats = this.edges.map((edge) => Number(plain(edge)));
    this.features = [{ name: this.name, size, kind: "number", say: (bucket) => this.say(bucket, size) }];
    this.bits = (bucket) => below(bucket, size - 1);
  }

  read(value) {
    if (isMissing(value)) return this.ofMissing();
    const number = numberOf(value);
    if (number === null) this.refuse("does not hold a number");
    const { from, to, outside } = this.map;
    if (outside === "refuse" && from !== undefined) {
      if (number < Number(from)) this.refuse(`is below its least value, ${from}`);
      if (number > Number(to)) this.refuse(`is above its greatest value, ${to}`);
    }
    return [this.first + countUpTo(this.floats, number)];
  }

  say(bucket, size) {
    if (bucket < this.first) return `${this.name} is missing`;
    const shown = (edge) => `${plain(edge)}${this.map.unit ? ` ${this.map.unit}` : ""}`;
    const bounds = [];
    if (bucket > this.first) bounds.push(`${this.name} >= ${shown(this.edges[bucket - this.first - 1])}`);
    if (bucket + 1 < size) bounds.push(`${this.name} < ${shown(this.edges[bucket - this.first])}`);
    return bounds.join(" and ") || `${this.name} is known`;
  }
}

class CategoryColumn extends Column {
  constructor(map) {
    super(map);
    this.values = map.values;
    this.spellings = spellings(map.values);
    this.other = map.other !== "refuse";
    const names = [...(this.first ? ["missing"] : []), ...this.values, ...(this.other ? ["other"] : [])];
    this.features = [
      { name: this.name, size: names.length, kind: "category", say: (bucket) => `${this.name} is ${names[bucket]}` },
    ];
    const flags = names.length === 2 ? [this.first] : numbers(0, this.first + this.values.length).map(Number);
    this.bits = (bucket) => flags.map((flag) => flag === bucket);
  }

  read(value) {
    const isWord = value === null || typeof value !== "object";
    if (!isWord) this.refuse("does not hold a text, a number or a truth value");
    const place = this.spellings.get(cellText(value)); // a word such as "NA" may be one of them
    if (place !== undefined) return [this.first + place];
    if (isMissing(value)) return this.ofMissing();
    if (!this.other) this.refuse("holds none of its values");
    return [this.first + this.values.length];
  }
}

class TimeColumn extends Column {
  constructor(map) {
    super(map);
    this.features = map.parts.map((part) => {
      const names = [...(this.first ? ["missing"] : []), ...PARTS[part]];
      const name = `${part} of ${this.name}`;
      return { name, size: names.length, kind: "time", part, say: (bucket) => `${name} is ${names[bucket]}` };
    });
    this.bits = (bucket, size) => numbers(0, size).map((flag) => Number(flag) === bucket);
  }

  read(value) {
    if (isMissing(value)) return this.ofMissing();
    const time = localTime(value, this.map.zone ?? "UTC");
    if (time === null) this.refuse("does not hold a time such as 2026-05-01 or 2026-05-01T13:45:00");
    return this.map.parts.map((part) => this.first + time[part]);
  }
}

class WideColumn extends Column {
  constructor(map, bits) {
    super(map);
    this.width = map.bits ?? bits;
    this.features = [];
  }

  read(value) {
    const number = isMissing(value) ? null : this.number(value);
    if (number === null) this.refuse(`does not hold ${this.what}`);
    return number;
  }
}

class IdColumn extends WideColumn {
  what = "an id (a text or a whole number)";

  constructor(map) {
    super(map, 64);
  }

  number(value) {
    return idNumber(value, this.width);
  }
}

class AddressColumn extends WideColumn {
  constructor(map) {
    super(map, 128);
    this.what = this.width === 32 ? "an IPv4 address" : "an address";
  }

  number(value) {
    if (this.width === 32) return ipv4Number(String(value)) ?? narrowNumber(value);
    const isWide = typeof value === "string" && /^[0-9A-Fa-f]{32}$/.test(value.trim()); // as SQL has them
    return isWide ? BigInt(`0x${value.trim()}`) : addressNumber(value);
  }
}

const COLUMNS = {
  number: NumberColumn, category: CategoryColumn, time: TimeColumn, id: IdColumn, address: AddressColumn,
};

/** What makes the points of a learner: its columns, and the form of a point. */
export class Reading {
  constructor(map) {
    this.form = map.form;
    this.columns = map.columns.map(column);
    this.features = this.columns.flatMap((one) => one.features);
  }

  get names() {
    return this.columns.map((one) => one.name);
  }

  /** The point of a row, an object with a value for the name of each column. */
  point(row) {
    for (const { name } of this.columns) {
      check(row !== null && typeof row === "object" && Object.hasOwn(row, name), `the row has no column ${name}`);
    }
    const read = this.columns.map((one) => one.read(row[one.name]));
    if (this.form === "number") return read[0];
    const buckets = read.flat();
    if (this.form === "row") return buckets;
    if (this.form === "bits") return this.packed(read);
    check(this.form === "value" || this.form === "cell", `points of the form ${this.form} are not known here`);
    return buckets.reduce((point, bucket, place) => point * this.features[place].size + bucket, 0);
  }

  /** Bits, the answers to the features' questions, the first in the lowest bit. */
  packed(read) {
    const flags = this.columns.flatMap((one, i) =>
      read[i].flatMap((bucket, place) => one.bits(bucket, one.features[place].size)),
    );
    return flags.reduce((point, flag, bit) => (flag ? point | (1n << BigInt(bit)) : point), 0n);
  }
}

/** For each text that means one of some words its place: true is True and TRUE as well, and 3 is 3.0. */
function spellings(values) {
  const found = new Map(values.map((value, place) => [value, place]));
  values.forEach((value, place) => {
    for (const other of otherSpellings(value)) if (!found.has(other)) found.set(other, place);
  });
  return found;
}

function otherSpellings(value) {
  const low = value.toLowerCase();
  const truth = [low, low.charAt(0).toUpperCase() + low.slice(1), low.toUpperCase()];
  if (["true", "false"].includes(low)) return truth.includes(value) ? truth : [];
  const number = /^(-?(?:0|[1-9][0-9]{0,14}))(?:\.0)?$/.exec(value);
  return number ? [number[1], `${number[1]}.0`] : [];
}

/** An IPv4 address that is given as its number, null for anything else. */
function narrowNumber(value) {
  const number = wholeNumber(value, { exact: true });
  return number === null || number < 0n || number >> 32n ? null : number;
}

const below = (bucket, count) => Array.from({ length: count }, (_, edge) => edge < bucket);

/** How many of rising numbers are at most this one. */
function countUpTo(rising, number) {
  let [low, high] = [0, rising.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rising[middle] <= number) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The steps - 1 edges inside a range, exact where they are short, else rounded. */
function cut({ from, to, steps, scale }) {
  const [least, most] = [decimal(String(from)), decimal(String(to))];
  const exact = Array.from({ length: steps - 1 }, (_, i) => between(least, most, i + 1, steps, scale));
  const ends = [least, ...exact, most];
  const gaps = ends.slice(1).map((edge, i) => subtract(edge, ends[i], WORKING_DIGITS));
  const room = exact.map((_, i) => {
    const narrower = compare(gaps[i], gaps[i + 1]) <= 0 ? gaps[i] : gaps[i + 1];
    return divide(narrower, whole(10), WORKING_DIGITS);
  });
  const short = scale !== "log" && exact.every((edge) => digitsOf(edge) <= LONG_DIGITS);
  for (let digits = short ? LONG_DIGITS : SHORT_DIGITS; digits <= LONG_DIGITS; digits += 1) {
    const edges = exact.map((edge) => rounded(edge, digits));
    const near = edges.every(
      (edge, i) => compare(absolute(subtract(edge, exact[i], COMPARED_DIGITS)), room[i]) <= 0,
    );
    const floats = edges.map((edge) => Number(plain(edge)));
    if (near && floats.every((edge, i) => i === 0 || floats[i - 1] < edge)) return edges;
  }
  throw new LittledError("steps must be fewer: the edges between them would fall together");
}

function between(least, most, place, steps, scale) {
  const common = gcd(place, steps);
  const [numerator, denominator] = [place / common, steps / common];
  if (scale === "log") return betweenLogs(least, most, numerator, denominator, WORKING_DIGITS);
  const span = multiply(subtract(most, least, WORKING_DIGITS), whole(numerator), WORKING_DIGITS);
  return add(least, divide(span, whole(denominator), WORKING_DIGITS), WORKING_DIGITS);
}

const gcd = (a, b) => (b ? gcd(b, a % b) : a);
