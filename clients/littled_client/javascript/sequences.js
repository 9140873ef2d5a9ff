// One-way sequences: what follows from a string by a tree of SHA-256.
//
// Strings and labels are small hexadecimal digits, as rules and points have them; a label has 32.

import { sha256 } from "./sha256.js";
import { stringDigits } from "./values.js";

const LABEL_DIGITS = 32;
const NO_LABEL = "0".repeat(LABEL_DIGITS);

const bytesOf = (digits) => Uint8Array.from(digits.match(/../g), (pair) => parseInt(pair, 16));

/** The digest of a label with one more byte, as 64 digits. */
const digest = (label, byte) => sha256(bytesOf(`${label}0${byte}`)).toString(16).padStart(64, "0");

const child = (label, right) => digest(label, right).slice(0, LABEL_DIGITS);

/** Which way the path to an index (BigInt) goes at a place: 1 for right. */
const turn = (index, bits, place) => Number((index >> BigInt(bits - 1 - place)) & 1n);

/** String and bit of an index (BigInt) that follow from the string of an earlier one. */
function forward(index, before, sigma, bits) {
  const parted = bits - (before ^ index).toString(2).length;
  let found = sigma.slice(0, LABEL_DIGITS * parted) + NO_LABEL;
  let label = sigma.slice(LABEL_DIGITS * parted, LABEL_DIGITS * (parted + 1));
  for (let place = parted + 1; place < bits; place += 1) {
    const right = turn(index, bits, place);
    found += right ? NO_LABEL : child(label, 1);
    label = child(label, right);
  }
  return [found, parseInt(digest(label, 2).slice(0, 2), 16) & 1];
}

/** Whether a point, the text of its bytes, continues the string of a rule and has the bit 1. */
export function follows({ bits, index, sigma, label }) {
  if (index === null) return () => false;
  const [least, size] = [BigInt(`0x${index}`), Math.ceil(bits / 8)];
  return (point) => {
    const digits = stringDigits(point, size + (LABEL_DIGITS / 2) * bits);
    const at = BigInt(`0x${digits.slice(0, 2 * size)}`);
    const own = digits.slice(2 * size);
    if (at < least || at >> BigInt(bits)) return false;
    if (at === least) return label === 1 && own === sigma;
    const [wanted, bit] = forward(at, least, sigma, bits);
    return bit === 1 && own === wanted;
  };
}
