// SHA-256 (FIPS 180-4). The browser's own is asynchronous, and is missing from pages without TLS.

const PRIMES = [];
for (let n = 2; PRIMES.length < 64; n += 1) if (PRIMES.every((p) => n % p)) PRIMES.push(n);

const fraction = (root) => ((root - Math.floor(root)) * 2 ** 32) | 0;
const INITIAL = PRIMES.slice(0, 8).map((p) => fraction(Math.sqrt(p)));
const CONSTANTS = PRIMES.map((p) => fraction(Math.cbrt(p)));

const rotate = (word, by) => (word >>> by) | (word << (32 - by));

/** The digest of bytes (Uint8Array) as a BigInt of 256 bits. */
export function sha256(bytes) {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  const state = Int32Array.from(INITIAL);
  for (let start = 0; start < padded.length; start += 64) compress(state, view, start);
  return state.reduce((digest, word) => (digest << 32n) | BigInt(word >>> 0), 0n);
}

function compress(state, view, start) {
  const words = new Int32Array(64);
  for (let i = 0; i < 16; i += 1) words[i] = view.getInt32(start + 4 * i);
  for (let i = 16; i < 64; i += 1) {
    const [a, b] = [words[i - 15], words[i - 2]];
    const early = rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3);
    const late = rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10);
    words[i] = words[i - 16] + early + words[i - 7] + late;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i += 1) {
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const first = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + CONSTANTS[i] + words[i]) | 0;
    const second = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority) | 0;
    [a, b, c, d, e, f, g, h] = [(first + second) | 0, a, b, c, (d + first) | 0, e, f, g];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => {
    state[i] += word;
  });
}
