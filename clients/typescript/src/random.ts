const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

/** Random bytes that have not been given out yet begin at used: the system gives many as fast as a few. */
const pool = new Uint8Array(1024);
let used = pool.length;

/** Returns up to 1 024 random bytes that cannot be guessed. */
export function randomBytes(length: number): Uint8Array {
  if (used + length > pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const begin = used;
  used += length;
  return pool.slice(begin, used);
}

/** Returns a text of 22 characters with 132 bits of chance, which needs no escape in a subject. */
export function randomText(): string {
  let text = "";
  for (const byte of randomBytes(22)) text += digits.charAt(byte & 63);
  return text;
}
