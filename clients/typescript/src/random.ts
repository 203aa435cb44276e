const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

/** Returns random bytes that cannot be guessed. */
export function randomBytes(length: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(length));
}

/** Returns a text of 22 characters with 132 bits of chance, which needs no escape in a subject. */
export function randomText(): string {
  let text = "";
  for (const byte of randomBytes(22)) text += digits.charAt(byte & 63);
  return text;
}
