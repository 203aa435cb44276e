/**
 * Returns the SHA-256 (FIPS 180-4) of short data: secrets, ids of sessions and the names of reply subjects. That of
 * WebCrypto is asynchronous, and absent on pages that come without TLS; node:crypto is absent in browsers.
 */
export function sha256(data: Uint8Array): Uint8Array {
  const length = data.length + 9;
  const padded = new DataView(new ArrayBuffer(Math.ceil(length / 64) * 64));
  new Uint8Array(padded.buffer).set(data);
  padded.setUint8(data.length, 0x80);
  padded.setUint32(padded.byteLength - 8, Math.floor(data.length / 0x20000000));
  padded.setUint32(padded.byteLength - 4, data.length << 3);
  const state = begin.slice();
  for (let at = 0; at < padded.byteLength; at += 64) mix(state, padded, at);
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => {
    digest.setUint32(4 * i, word);
  });
  return new Uint8Array(digest.buffer);
}

/** Returns the first bytes in hexadecimal. */
export function hexOf(bytes: Uint8Array, count: number): string {
  let text = "";
  for (let i = 0; i < count; i++) text += octets[bytes[i] ?? 0] ?? "";
  return text;
}

const octets = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** The first 64 primes, from which the constants come. */
const primes = ((): number[] => {
  const found: number[] = [];
  for (let n = 2; found.length < 64; n++) if (found.every((p) => n % p !== 0)) found.push(n);
  return found;
})();

const begin = Uint32Array.from(primes.slice(0, 8), (p) => fraction(Math.sqrt(p)));
const rounds = Uint32Array.from(primes, (p) => fraction(Math.cbrt(p)));

/** Returns the first 32 bits behind the point. */
function fraction(x: number): number {
  return (x - Math.floor(x)) * 0x100000000;
}

function rotate(x: number, by: number): number {
  return (x >>> by) | (x << (32 - by));
}

const words = new Uint32Array(64);

/** Takes one block of 64 bytes into the state. */
function mix(state: Uint32Array, block: DataView, at: number): void {
  const word = (i: number): number => words[i] ?? 0;
  for (let i = 0; i < 16; i++) words[i] = block.getUint32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const x = word(i - 15);
    const y = word(i - 2);
    const low = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
    const high = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
    words[i] = word(i - 16) + low + word(i - 7) + high;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < 64; i++) {
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const first = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + (rounds[i] ?? 0) + word(i)) | 0;
    const second = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((x, i) => {
    state[i] = (state[i] ?? 0) + x;
  });
}
