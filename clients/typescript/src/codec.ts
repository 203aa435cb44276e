import { hasLoneSurrogate } from "./key.js";
import type { Bytes } from "./secret.js";
import type { Notice, Operation, Reply } from "./wire.js";

/** What the value of a field is: in an object a long is a text of digits, or a number, and an enumeration a name. */
type Kind = "string" | "bytes" | "uint" | "long" | "bool" | "map" | readonly string[] | Message;

interface Field {
  readonly name: string;
  readonly number: number;
  readonly kind: Kind;
  readonly isRepeated: boolean;
}

/** The fields of a message of the contract. */
class Message {
  readonly named = new Map<string, Field>();
  readonly numbered: (Field | undefined)[] = [];

  constructor(fields: Readonly<Record<string, readonly [number: number, kind: Kind, repeated?: "repeated"]>>) {
    for (const [name, [number, kind, repeated]] of Object.entries(fields)) {
      const field = { name, number, kind, isRepeated: repeated !== undefined };
      this.named.set(name, field);
      this.numbered[number] = field;
    }
  }
}

const durability = ["PERSISTENT", "EPHEMERAL"] as const;
const statuses = [
  "STATUS_UNSPECIFIED", "GRANTED", "HELD", "TIMEOUT", "CANCELLED", "EXTENDED", "RELEASED", "EXPIRED", "NOT_HELD", "NOT_OWNER",
  "STALE_TOKEN", "FREE", "INVALID", "OVERLOADED", "UNAVAILABLE", "EXHAUSTED", "HELD_BACK", "UPDATED",
] as const;

/** The requests, each with its number in a call. */
const requests: Partial<Record<Operation, { number: number; message: Message }>> = {
  acquire: {
    number: 3,
    message: new Message({
      owner: [1, "string"], ttl_ms: [2, "uint"], wait_ms: [3, "uint"], request_id: [4, "string"], durability: [5, durability],
      reentrant: [6, "bool"], metadata: [7, "map"], limit: [8, "uint"], permits: [9, "uint"], delay_ms: [10, "uint"],
      confirm: [11, "bool"], secret_hash: [13, "bytes"], secret: [14, "bytes"],
      tokens: [15, "uint"], min_hold_ms: [17, "uint"],
    }),
  },
  release: {
    number: 4,
    message: new Message({ owner: [1, "string"], token: [2, "long"], request_id: [3, "string"], secret: [4, "bytes"] }),
  },
  extend: {
    number: 5,
    message: new Message({
      owner: [1, "string"], token: [2, "long"], ttl_ms: [3, "uint"], secret: [5, "bytes"], session: [6, "string"],
      order: [7, "long"], tokens: [8, "uint"],
    }),
  },
  get: { number: 6, message: new Message({}) },
  break: { number: 7, message: new Message({ token: [1, "long"], reason: [2, "string"] }) },
  confirm: { number: 8, message: new Message({ token: [1, "long"], by: [2, "string"], how: [3, "string"] }) },
  keep: {
    number: 9,
    message: new Message({
      ttl_ms: [1, "uint"], alive: [2, "string"], disconnect_ms: [3, "uint"], notices: [4, "bool"], secret: [5, "bytes"],
    }),
  },
  set: {
    number: 11,
    message: new Message({ owner: [1, "string"], token: [2, "long"], metadata: [3, "map"], secret: [4, "bytes"], order: [5, "long"] }),
  },
};

const lease = new Message({
  resource: [1, "string"], owner: [2, "string"], token: [3, "long"], fence: [4, "string"], ttl_ms: [5, "uint"],
  remaining_ms: [6, "uint"], acquired_at_ms: [7, "long"], durability: [8, durability], metadata: [9, "map"], limit: [10, "uint"],
  slots: [11, "uint", "repeated"], session: [12, "string"], tokens: [15, "uint"],
});
const reply = new Message({
  status: [1, statuses], lease: [2, lease], waiting: [3, "uint"], error: [4, "string"], holders: [5, lease, "repeated"],
  held: [6, "uint"], left_ms: [8, "uint"], losses: [9, "long"], order: [11, "long"], lasting: [12, "bool"],
  wanted: [13, "string", "repeated"],
});
const batchReply = new Message({ answers: [1, new Message({ id: [1, "uint"], reply: [2, reply] }), "repeated"] });
const notice = new Message({ resource: [1, "string"], token: [2, "long"], waiting: [3, "uint"], ended: [4, "bool"] });

/** The wire types of protobuf. */
const varint = 0;
const delimited = 2;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Writes the calls of a batch in protobuf: a node splits those without decoding them. */
export class Writer {
  /** How many bytes there are. A smaller number removes the last ones. */
  length = 0;
  #bytes = new Uint8Array(1024);

  /** Returns the bytes, and begins again. */
  take(): Uint8Array {
    const taken = this.#bytes.slice(0, this.length);
    this.length = 0;
    return taken;
  }

  /** Appends a call, with an operation that a batch may have. Throws if the body has no form in protobuf. */
  call(id: number, key: string, operation: Operation, body: object): void {
    const request = requests[operation];
    if (request === undefined) throw new RangeError(`a batch has no ${operation}`);
    const call = this.#begin(1);
    this.#tag(1, varint);
    this.#number(id);
    this.#tag(2, delimited);
    this.#text(key);
    const begun = this.#begin(request.number);
    this.#message(request.message, body as Record<string, unknown>);
    this.#end(begun);
    this.#end(call);
  }

  /** Appends a call that has nothing. */
  emptyCall(): void {
    this.#end(this.#begin(1));
  }

  #message(message: Message, values: Readonly<Record<string, unknown>>): void {
    for (const name of Object.keys(values)) {
      const field = message.named.get(name);
      if (field === undefined) throw new RangeError(`there is no field ${name}`);
      if (values[name] !== undefined) this.#field(field, values[name]);
    }
  }

  #field({ number, kind }: Field, value: unknown): void {
    switch (kind) {
      case "string":
        this.#tag(number, delimited);
        this.#text(value as string);
        return;
      case "bytes":
        this.#tag(number, delimited);
        this.#raw((value as Bytes).bytes);
        return;
      case "map":
        for (const [key, text] of Object.entries(value as Record<string, string>)) {
          const begun = this.#begin(number);
          this.#tag(1, delimited);
          this.#text(key);
          this.#tag(2, delimited);
          this.#text(text);
          this.#end(begun);
        }
        return;
      default:
        this.#tag(number, varint);
        this.#number(Array.isArray(kind) ? kind.indexOf(value) : Number(value));
    }
  }

  /** Begins a field whose length is known at its end. Returns where it begins. */
  #begin(number: number): number {
    this.#tag(number, delimited);
    this.#room(1);
    return ++this.length; // most lengths take one byte
  }

  #end(begin: number): void {
    const size = this.length - begin;
    const extra = size < 0x80 ? 0 : size < 0x4000 ? 1 : size < 0x200000 ? 2 : 3;
    this.#room(extra);
    if (extra > 0) this.#bytes.copyWithin(begin + extra, begin, this.length);
    this.length = begin - 1;
    this.#number(size);
    this.length += size;
  }

  #tag(number: number, type: number): void {
    this.#number(number * 8 + type);
  }

  #number(value: number): void {
    this.#room(10);
    for (; value >= 0x80; value = Math.floor(value / 0x80)) this.#bytes[this.length++] = (value % 0x80) | 0x80;
    this.#bytes[this.length++] = value;
  }

  #text(text: string): void {
    const size = text.length;
    this.#room(size + 1);
    const bytes = this.#bytes;
    const begin = this.length + 1;
    let i = 0;
    for (let code; i < size && i < 0x80 && (code = text.charCodeAt(i)) < 0x80; i++) bytes[begin + i] = code;
    if (i === size && size < 0x80) {
      bytes[begin - 1] = size;
      this.length = begin + size;
      return;
    }
    if (hasLoneSurrogate(text)) throw new RangeError("a text is no Unicode");
    this.#raw(encoder.encode(text));
  }

  #raw(bytes: Uint8Array): void {
    this.#number(bytes.length);
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  #room(more: number): void {
    if (this.length + more <= this.#bytes.length) return;
    const longer = new Uint8Array(2 * (this.length + more));
    longer.set(this.#bytes);
    this.#bytes = longer;
  }
}

/** Returns the answers of a message to a batch; undefined if it is none: others may be permitted to publish there. */
export function batchReplyOf(data: Uint8Array): { id?: number; reply?: Reply }[] | undefined {
  const answers = valueOf(batchReply, data) as { answers?: { id?: number; reply?: Reply }[] } | undefined;
  return answers && (answers.answers ?? []);
}

/** Returns a notice, which is in the encoding of the keep; undefined if it is none. */
export function noticeOf(data: Uint8Array): Notice | undefined {
  return valueOf(notice, data);
}

function valueOf(message: Message, data: Uint8Array): object | undefined {
  try {
    return new Reader(data).message(message, data.length);
  } catch {
    return undefined;
  }
}

/** Reads messages in protobuf as the objects that JSON has in their place. It throws if they are malformed. */
class Reader {
  #at = 0;

  constructor(private readonly data: Uint8Array) {}

  /** Reads a message that ends there. Fields that it does not know are passed over. */
  message(message: Message, end: number): object {
    const values: Record<string, unknown> = {};
    while (this.#at < end) {
      const tag = this.#number();
      const type = tag % 8;
      const field = message.numbered[Math.floor(tag / 8)];
      if (field === undefined) this.#skip(type);
      else if (type === delimited && (field.isRepeated || !isNumber(field.kind))) this.#delimited(field, values);
      else if (type === varint && isNumber(field.kind)) this.#varint(field, values);
      else this.#skip(type);
    }
    if (this.#at !== end) throw new RangeError("a message has no end");
    return values;
  }

  #varint({ name, kind, isRepeated }: Field, values: Record<string, unknown>): void {
    const value = this.#scalar(kind);
    if (isRepeated) listOf(values, name).push(value);
    else values[name] = value;
  }

  #delimited({ name, kind, isRepeated }: Field, values: Record<string, unknown>): void {
    const end = this.#end();
    if (isNumber(kind)) { // packed
      while (this.#at < end) listOf(values, name).push(this.#scalar(kind));
      return;
    }
    const value = kind instanceof Message ? this.message(kind, end) : kind === "string" ? this.#text(end) : undefined;
    if (kind === "map") this.#entry((values[name] ??= {}), end);
    else if (isRepeated) listOf(values, name).push(value);
    else values[name] = value;
    this.#at = end;
  }

  /** Reads an entry of a map. A key is never taken for the prototype. */
  #entry(map: object, end: number): void {
    const { key = "", value = "" } = this.message(entry, end) as { key?: string; value?: string };
    Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
  }

  #scalar(kind: Kind): unknown {
    if (kind === "long") return this.#long();
    const value = this.#number();
    if (kind === "bool") return value !== 0;
    return Array.isArray(kind) ? (kind as readonly string[])[value] : value;
  }

  #text(end: number): string {
    return decoder.decode(this.data.subarray(this.#at, end));
  }

  #end(): number {
    const size = this.#number();
    if (this.#at + size > this.data.length) throw new RangeError("a field has no end");
    return this.#at + size;
  }

  /** Reads a number. It is exact up to 2^53. */
  #number(): number {
    let value = 0;
    for (let unit = 1; unit < 2 ** 70; unit *= 0x80) {
      const byte = this.data[this.#at++];
      if (byte === undefined) break;
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) return value;
    }
    throw new RangeError("a number has no end");
  }

  #long(): string {
    const begin = this.#at;
    const value = this.#number();
    if (value <= Number.MAX_SAFE_INTEGER) return String(value);
    const bytes = this.data.subarray(begin, this.#at);
    return BigInt.asUintN(64, bytes.reduceRight((high, byte) => (high << 7n) | BigInt(byte & 0x7f), 0n)).toString();
  }

  #skip(type: number): void {
    if (type === varint) this.#number();
    else if (type === delimited) this.#at = this.#end();
    else if (type === 1) this.#at += 8;
    else if (type === 5) this.#at += 4;
    else throw new RangeError(`a field has the wire type ${type}`);
  }
}

const entry = new Message({ key: [1, "string"], value: [2, "string"] });

/** Reports whether a value of the kind stands as a number. */
function isNumber(kind: Kind): boolean {
  return kind === "uint" || kind === "long" || kind === "bool" || Array.isArray(kind);
}

function listOf(values: Record<string, unknown>, name: string): unknown[] {
  return (values[name] ??= []) as unknown[];
}
