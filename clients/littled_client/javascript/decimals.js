// Decimal numbers with so many digits, as a public column's edges are worked out from its range.
//
// A decimal is {digits: BigInt, exponent: Number}, and stands for digits * 10^exponent. Results are
// rounded half to even, so that an edge here is the very edge that the daemon has.

import { check } from "./errors.js";

const WRITTEN = /^([+-]?)([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]+))?$/;
// Digits behind the point in which logarithms are computed, far more than are kept of them.
const LOG_DIGITS = 90;
const LOG_ONE = 10n ** BigInt(LOG_DIGITS);

const tenTo = (power) => 10n ** BigInt(power);
const length = (digits) => (digits < 0n ? -digits : digits).toString().length;

/** The decimal that a text such as "-12.50" or "1e-3" writes. */
export function decimal(text) {
  const match = WRITTEN.exec(text);
  check(match !== null && match[2] + match[3] !== "", "an edge of a column must be a number");
  const digits = BigInt(match[2] + match[3]) * (match[1] === "-" ? -1n : 1n);
  return { digits, exponent: Number(match[4] ?? 0) - match[3].length };
}

/** The decimal of a whole number. */
export const whole = (number) => ({ digits: BigInt(number), exponent: 0 });

/** A decimal in digits, without an exponent and without zeros at its end. */
export function plain({ digits, exponent }) {
  const sign = digits < 0n ? "-" : "";
  let text = (digits < 0n ? -digits : digits).toString();
  if (exponent >= 0) return sign + (digits === 0n ? "0" : text + "0".repeat(exponent));
  text = text.padStart(1 - exponent, "0");
  const rest = text.slice(exponent).replace(/0+$/, "");
  return sign + text.slice(0, exponent) + (rest ? `.${rest}` : "");
}

/** How many digits a decimal has without zeros at its end. */
export function digitsOf({ digits }) {
  if (digits === 0n) return 1;
  return (digits < 0n ? -digits : digits).toString().replace(/0+$/, "").length;
}

/** A decimal rounded to so many digits. */
export function rounded(number, precision) {
  const surplus = length(number.digits) - precision;
  if (surplus <= 0) return number;
  const result = { digits: halfEven(number.digits, tenTo(surplus)), exponent: number.exponent + surplus };
  return rounded(result, precision); // 999.5 has become 1000
}

/** -1, 0 or 1 as a is less than, equal to or greater than b. */
export function compare(a, b) {
  const difference = difference_(a, b).digits;
  return difference < 0n ? -1 : Number(difference > 0n);
}

export const add = (a, b, precision) => rounded(sum_(a, b), precision);
export const subtract = (a, b, precision) => rounded(difference_(a, b), precision);
export const multiply = (a, b, precision) =>
  rounded({ digits: a.digits * b.digits, exponent: a.exponent + b.exponent }, precision);
export const absolute = (a) => ({ ...a, digits: a.digits < 0n ? -a.digits : a.digits });

/** a / b, whose quotient is exact where it has few digits. */
export function divide(a, b, precision) {
  check(b.digits !== 0n, "a column must not have an empty range");
  const shift = Math.max(0, precision + 1 + length(b.digits) - length(a.digits));
  const numerator = a.digits * tenTo(shift);
  let digits = numerator / b.digits;
  // One more digit that is not 0 keeps what is cut off from looking like a tie.
  const inexact = digits * b.digits !== numerator;
  let exponent = a.exponent - b.exponent - shift;
  if (inexact) {
    digits = digits * 10n + (digits < 0n ? -1n : 1n);
    exponent -= 1;
  }
  return rounded({ digits, exponent }, precision);
}

/** (1 - share) log a + share log b, raised again: a point between a and b on a log scale. */
export function betweenLogs(a, b, numerator, denominator, precision) {
  const [top, bottom] = [BigInt(numerator), BigInt(denominator)];
  const power = ((bottom - top) * log(a) + top * log(b)) / bottom;
  return rounded({ digits: exp(power), exponent: -LOG_DIGITS }, precision);
}

function sum_(a, b) {
  const exponent = Math.min(a.exponent, b.exponent);
  const scaled = (one) => one.digits * tenTo(one.exponent - exponent);
  return { digits: scaled(a) + scaled(b), exponent };
}

const difference_ = (a, b) => sum_(a, { ...b, digits: -b.digits });

function halfEven(digits, unit) {
  const [size, negative] = digits < 0n ? [-digits, true] : [digits, false];
  const [quotient, twice] = [size / unit, 2n * (size % unit)];
  const up = twice > unit || (twice === unit && quotient % 2n === 1n);
  const result = quotient + (up ? 1n : 0n);
  return negative ? -result : result;
}

// --- Logarithms, in units of 10^-LOG_DIGITS -------------------------------------------------------

let ten; // log 10, once it is needed

/** log of a decimal above 0. */
function log({ digits, exponent }) {
  ten ??= logNear((10n * LOG_ONE) / 8n) + 3n * logNear(2n * LOG_ONE);
  // digits = m * 10^k with m from 1 to 10, then halved until it is near 1
  const places = length(digits) - 1;
  let mantissa = (digits * LOG_ONE) / tenTo(places);
  let halvings = 0n;
  while (mantissa > (3n * LOG_ONE) / 2n) {
    mantissa /= 2n;
    halvings += 1n;
  }
  return logNear(mantissa) + halvings * logNear(2n * LOG_ONE) + BigInt(places + exponent) * ten;
}

/** log of a number near 1, by 2 artanh((x - 1) / (x + 1)). */
function logNear(x) {
  const ratio = ((x - LOG_ONE) * LOG_ONE) / (x + LOG_ONE);
  const square = (ratio * ratio) / LOG_ONE;
  let [power, total] = [ratio, 0n];
  for (let odd = 1n; power !== 0n; odd += 2n) {
    total += power / odd;
    power = (power * square) / LOG_ONE;
  }
  return 2n * total;
}

function exp(x) {
  ten ??= logNear((10n * LOG_ONE) / 8n) + 3n * logNear(2n * LOG_ONE);
  let tens = x / ten;
  if (x < 0n) tens -= 1n;
  // exp(x) = 10^tens * exp(rest), and exp(rest) is the 2^10-th power of a number near 1
  const rest = (x - tens * ten) / 1024n;
  let [term, total] = [LOG_ONE, LOG_ONE];
  for (let k = 1n; term !== 0n; k += 1n) {
    term = (term * rest) / (LOG_ONE * k);
    total += term;
  }
  for (let i = 0; i < 10; i += 1) total = (total * total) / LOG_ONE;
  return tens >= 0n ? total * 10n ** tens : total / 10n ** -tens;
}
