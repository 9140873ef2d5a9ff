// Single values as people have them: numbers, whole numbers, words, ids and addresses.

import { decimal, plain } from "./decimals.js";
import { sha256 } from "./sha256.js";

const MISSING = new Set(["", "NA", "NaN", "nan", "null"]);
const NUMBER = /^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$/;
const INTEGER = /^[+-]?[0-9]+$/;
const HEXADECIMAL = /^0[xX][0-9A-Fa-f]+$/;
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;
const WRITTEN_DIGITS_MAX = 40;
const IPV4_INSIDE_IPV6 = 0xffffn << 32n;
const WIDE_BITS = 128n;

/** Whether a value is nothing: null, undefined, NaN, or a text such as "" and "NA". */
export function isMissing(value) {
  if (typeof value === "string") return MISSING.has(value.trim());
  return value === null || value === undefined || Number.isNaN(value);
}

/** A value as a finite number, null if it is none. */
export function numberOf(value) {
  const isNumber = typeof value === "number" || typeof value === "bigint";
  if (!isNumber && !(typeof value === "string" && NUMBER.test(value))) return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

/** A value as a whole number (BigInt), which 24.0 and "24.0" are as well; null if it is none. */
export function wholeNumber(value, { exact = false } = {}) {
  if (typeof value === "bigint") return value;
  if (typeof value === "number") return Number.isInteger(value) ? BigInt(value) : null;
  if (typeof value !== "string") return null;
  const text = value.trim();
  if (HEXADECIMAL.test(text)) return BigInt(text);
  if (INTEGER.test(text)) return BigInt(text.replace("+", ""));
  if (exact || !NUMBER.test(text)) return null;
  const { digits, exponent } = decimal(text);
  if (digits.toString().length + exponent > WRITTEN_DIGITS_MAX) return null;
  const written = plain({ digits, exponent });
  return written.includes(".") ? null : BigInt(written);
}

/** A value as the text that stands in a configuration. */
export function cellText(value) {
  if (typeof value === "string") return value.trim();
  if (typeof value === "number" && Number.isInteger(value)) return BigInt(value).toString();
  if (typeof value === "number") return floatText(value);
  return String(value);
}

/** A number as Python writes it: with an exponent of two digits below 0.0001 and from 1e16 on. */
function floatText(value) {
  const size = Math.abs(value);
  if (!Number.isFinite(value) || (size >= 1e-4 && size < 1e16)) return String(value);
  const [digits, exponent] = value.toExponential().split("e");
  return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
}

/** The first `bits` bits of the SHA-256 of an id, a text or a whole number; null if it is neither. */
export function idNumber(value, bits) {
  const isNumber = typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
  if (!isNumber && typeof value !== "string") return null;
  const text = isNumber ? BigInt(value).toString() : value;
  return sha256(new TextEncoder().encode(text)) >> BigInt(256 - bits);
}

/**
 * The bytes of a text as 2 `size` hexadecimal digits, with zero bytes at the end of a shorter one; or
 * those that are written 0x and all their digits. null for anything else.
 */
export function stringDigits(value, size) {
  if (typeof value !== "string" || value === "" || UNPRINTABLE.test(value)) return null;
  if (value.startsWith("0x")) {
    const digits = value.slice(2);
    return digits.length === 2 * size && /^[0-9a-f]*$/.test(digits) ? digits : null;
  }
  const bytes = new TextEncoder().encode(value);
  if (bytes.length > size) return null;
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("").padEnd(2 * size, "0");
}

/** The number of an IPv4 address in dotted text (BigInt), null for anything else. */
export function ipv4Number(value) {
  if (typeof value !== "string") return null;
  const parts = value.trim().split(".");
  const right = parts.length === 4 && parts.every((part) => /^(0|[1-9][0-9]{0,2})$/.test(part) && part < 256);
  return right ? parts.reduce((number, part) => (number << 8n) | BigInt(part), 0n) : null;
}

/** The 128 bits of an address, a UUID or a whole number; IPv4 is inside ::ffff:0:0/96. */
export function addressNumber(value, { exact = true } = {}) {
  if (typeof value === "string") {
    const narrow = ipv4Number(value);
    if (narrow !== null) return IPV4_INSIDE_IPV6 | narrow;
    if (value.includes(":")) return ipv6Number(value.trim());
    if (/^[0-9A-Fa-f-]{36}$/.test(value) && value.replaceAll("-", "").length === 32) {
      return BigInt(`0x${value.replaceAll("-", "")}`);
    }
  }
  const number = wholeNumber(value, { exact });
  return number === null || number < 0n || number >> WIDE_BITS ? null : number;
}

function ipv6Number(text) {
  const halves = text.split("::");
  if (halves.length > 2) return null;
  const groups = halves.map((half) => (half === "" ? [] : half.split(":")));
  // The last 32 bits may be written as an IPv4 address.
  const last = groups.at(-1);
  const narrow = last.length ? ipv4Number(last.at(-1)) : null;
  if (narrow !== null && !/\s/.test(text)) {
    last.splice(-1, 1, (narrow >> 16n).toString(16), (narrow & 0xffffn).toString(16));
  }
  const count = groups.flat().length;
  const filled = halves.length === 2 ? [...groups[0], ...Array(Math.max(0, 8 - count)).fill("0"), ...groups[1]] : groups[0];
  const right = filled.length === 8 && (halves.length === 1 || count < 8) && filled.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group));
  return right ? filled.reduce((number, group) => (number << 16n) | BigInt(`0x${group}`), 0n) : null;
}

/** A number of 32 or 128 bits as an address, IPv4 where it is inside ::ffff:0:0/96. */
export function shownAddress(number, bits) {
  const wide = BigInt(number);
  if (bits === 32 || wide >> 32n === 0xffffn) {
    return [24n, 16n, 8n, 0n].map((shift) => (wide >> shift) & 255n).join(".");
  }
  const groups = Array.from({ length: 8 }, (_, i) => ((wide >> BigInt(112 - 16 * i)) & 0xffffn).toString(16));
  return groups.join(":");
}
