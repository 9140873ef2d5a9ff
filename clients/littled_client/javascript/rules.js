// Published rules, evaluated without a daemon: the same labels as everywhere else.
//
// A point is a number below 2^32, a BigInt of 64 or 128 bits, a row (an array of numbers), or the text
// of a byte string.

import { LittledError, check } from "./errors.js";
import { follows } from "./sequences.js";
import { stringDigits } from "./values.js";

const HEXADECIMAL = /^[0-9a-f]+$/;

const bitsOf = (size) => Math.max(1, (size - 1).toString(2).length);

/** The name of the smallest type of points that holds so many bits. */
const smallestType = (bits) => ["u8", "u16", "u32", "u64"].find((name) => bits <= Number(name.slice(1))) ?? "u128";

/** A number of a rule, which is hexadecimal text where it may have more than 32 bits. */
function bigint(value) {
  if (typeof value === "number" && Number.isSafeInteger(value)) return BigInt(value);
  check(typeof value === "string" && HEXADECIMAL.test(value), "a number of the rule is not written as it should be");
  return BigInt(`0x${value}`);
}

/** Whether a point begins with a prefix: a value, and its length in bits. */
function block(bits, [value, length]) {
  const [wanted, free] = [bigint(value), BigInt(bits - length)];
  return (point) => BigInt(point) >> free === wanted;
}

const KINDS = {
  threshold: ({ size, threshold }) => ({
    xType: smallestType(bitsOf(size)),
    label: (point) => threshold !== size && point >= threshold,
  }),

  points({ bits, members }) {
    const set = new Set(members.map((member) => bigint(member).toString()));
    return { xType: smallestType(bits), label: (point) => set.has(BigInt(point).toString()) };
  },

  prefix: ({ bits, value, length }) => ({
    xType: smallestType(bits),
    label: length === null ? () => false : block(bits, [value, length]),
  }),

  prefix_set({ bits, prefixes }) {
    const blocks = prefixes.map((prefix) => block(bits, prefix));
    return { xType: smallestType(bits), label: (point) => blocks.some((holds) => holds(point)) };
  },

  table({ size, values }) {
    const digit = (place) => parseInt(values[place], 16);
    return {
      xType: smallestType(bitsOf(size)),
      label: (point) => point < size && ((digit(Math.floor(point / 4)) >> (3 - (point % 4))) & 1) === 1,
    };
  },

  stump: ({ features, feature, threshold, at_least: atLeast }) => ({
    xType: `u16x${features}`,
    label: (point) => point[feature] >= threshold === atLeast,
  }),

  affine({ bits, basis, offset }) {
    const vectors = basis.map(bigint).map((vector) => [vector, BigInt(vector.toString(2).length - 1)]);
    const rest = offset === null ? null : bigint(offset);
    const clear = (point, [vector, highest]) => ((point >> highest) & 1n ? point ^ vector : point);
    return { xType: smallestType(bits), label: (point) => vectors.reduce(clear, BigInt(point)) === rest };
  },

  conjunction({ bits, ones, zeros }) {
    const [yes, no] = [bigint(ones), bigint(zeros)];
    return {
      xType: smallestType(bits),
      label: (point) => (BigInt(point) & yes) === yes && (BigInt(point) & no) === 0n,
    };
  },

  scorecard({ constant, tables }) {
    const rows = (point) => (Array.isArray(point) ? point : [point]);
    const points = (point) => tables.map((table, i) => table[Math.min(rows(point)[i], table.length - 1)]);
    const single = smallestType(bitsOf(tables[0].length));
    return {
      xType: tables.length > 1 ? `u16x${tables.length}` : single,
      constant,
      points,
      rows,
      label: (point) => points(point).reduce((sum, one) => sum + one, constant) > 0,
    };
  },

  at_least: ({ bits, least }) => ({
    xType: smallestType(bits),
    label: least === null ? () => false : (point) => BigInt(point) >= bigint(least),
  }),

  string: ({ size, value }) => ({
    xType: `bytes${size}`,
    label: (point) => value !== null && stringDigits(point, size) === value,
  }),

  sequence: ({ bits, ...known }) => ({
    xType: `bytes${Math.ceil(bits / 8) + 16 * bits}`,
    label: follows({ bits, ...known }),
  }),

  majority({ members }) {
    const rules = members.map(evaluator);
    return {
      xType: rules[0].xType,
      label: (point) => 2 * rules.filter((rule) => rule.label(point)).length > rules.length,
    };
  },
};

/**
 * What evaluates a rule, a map as releases carry it: `xType`, the type of its points, and
 * `label(point)`, true or false. A scorecard also has `constant` and `points(point)`.
 *
 * Throws LittledError for a kind of rule that is not known here.
 */
export function evaluator(map) {
  if (map === null || typeof map !== "object" || !Object.hasOwn(KINDS, map.kind)) {
    throw new LittledError(`a rule of kind ${String(map?.kind)} is not known here`);
  }
  return KINDS[map.kind](map);
}
