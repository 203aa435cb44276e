/**
 * A guard for the objects of an S3-style store, for `@aws-sdk/client-s3`.
 *
 * The mark of an object is in its metadata, as holdfast-fencing-token. A write reads the mark and the ETag, checks the
 * claim, and puts the object on the condition that it still has that ETag; if another write came first, all of it starts
 * again. In most stores an ETag is a hash of the bytes alone, so the guard ends each body with a stamp, a line with the
 * token; the metadata holdfast-stamp has its length. {@link Bucket.delete} leaves a tombstone, because a deletion would
 * forget the mark. All of it is as the guards in Go and Python write it.
 *
 * The store must refuse a put whose condition does not hold, which {@link Bucket.verify} tries. It needs the permissions
 * s3:GetObject, s3:PutObject and s3:ListBucket, and s3:DeleteObject for {@link Bucket.verify}. A write without the guard
 * is not refused and can remove the mark.
 *
 * @module
 */
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import type { GetObjectCommandOutput, PutObjectCommandInput, S3Client } from "@aws-sdk/client-s3";
import { InvalidError } from "../errors.js";
import { parseFence } from "../fence.js";
import { randomText } from "../random.js";
import { hexOf, sha256 } from "../sha256.js";
import { Claim, claimOf, invalid, type Claims } from "./claim.js";
import { check, MalformedMarkError, UnfitStoreError, UnknownWriteError } from "./rule.js";

/** What a guarded object has besides its body: headers, metadata, encryption. */
export type Attributes = Omit<PutObjectCommandInput, "Bucket" | "Key" | "Body" | "ContentLength" | "IfMatch" | "IfNoneMatch">;

/** Options of a {@link Bucket}. */
export interface BucketOptions {
  /** The prefix of the keys of the guard itself, `holdfast-fence/`. Callers cannot write below it. */
  prefix?: string;
  /** Whether each token is accepted a single time, for a job that must not run twice under one grant. */
  once?: boolean;
  /** Leaves the stamp out. It is safe only where every write has an ETag of its own, even one of the same bytes. */
  plainBodies?: boolean;
}

/** Options of a call. */
export interface CallOptions {
  /** Ends the call. Without one a write contends with other writers without a bound. */
  signal?: AbortSignal | undefined;
}

/** The most bytes of a guarded object, which is held in memory. */
export const maxBody = 64 << 20;

const reserved = "holdfast-";
const metaToken = "holdfast-fencing-token"; // 15 digits
const metaStamp = "holdfast-stamp"; // how many bytes the stamp has
const metaDeleted = "holdfast-deleted"; // "true" on a tombstone
const utf8 = new TextEncoder();

/** How long a contended write waits before it begins again, at most, in milliseconds: at first, and at last. */
const [shortestPause, longestPause] = [2, 100];

/** What a write is conditioned on. Without an object there is no ETag, and the mark is 0. */
interface State {
  etag: string | undefined;
  token: bigint;
  /** The caller's bytes, if they were read; null if there are none. */
  body: Uint8Array | null;
}

/** A bucket with guarded objects. */
export class Bucket {
  readonly #client: Pick<S3Client, "send">;
  readonly #name: string;
  readonly #prefix: string;
  readonly #once: boolean;
  readonly #plain: boolean;

  /** @throws InvalidError if the prefix is empty. */
  constructor(client: Pick<S3Client, "send">, bucket: string, { prefix = "holdfast-fence/", once = false, plainBodies = false }: BucketOptions = {}) {
    if (prefix === "") throw invalid(undefined, "the prefix of marks is empty, which would leave no key to callers");
    this.#client = client;
    this.#name = bucket;
    this.#prefix = prefix;
    this.#once = once;
    this.#plain = plainBodies;
  }

  /**
   * Stores an object with its mark.
   *
   * @throws StaleClaimError if the claim was refused, InvalidError if an argument breaks a rule, and MalformedMarkError if
   * the mark is not one; nothing was written then. After an UnknownWriteError the object may have been written.
   */
  async put(claim: Claims, key: string, body: Uint8Array | string, attributes: Attributes = {}, { signal }: CallOptions = {}): Promise<void> {
    this.#admit(key, attributes);
    await this.#write(claimOf(claim), key, attributes, () => body, !this.#plain, signal);
  }

  /**
   * Stores an object as {@link Bucket.put} does; its body is what a function makes of the present one, null if there is no
   * object. The function is called again after a conflict, so no other change is lost. If it fails, nothing is written.
   */
  async modify(
    claim: Claims,
    key: string,
    change: (old: Uint8Array | null) => Uint8Array | string | Promise<Uint8Array | string>,
    attributes: Attributes = {},
    { signal }: CallOptions = {},
  ): Promise<void> {
    this.#admit(key, attributes);
    await this.#write(claimOf(claim), key, attributes, change, !this.#plain, signal, true);
  }

  /** Takes an object away, also if there is none, and leaves a tombstone, which keeps the mark. */
  async delete(claim: Claims, key: string, { signal }: CallOptions = {}): Promise<void> {
    this.#admit(key, {});
    await this.#write(claimOf(claim), key, { Metadata: { [metaDeleted]: "true" } }, () => "", !this.#plain, signal);
  }

  /** Returns the bytes of an object, without its stamp; null if there is none, or a tombstone. */
  async get(key: string, { signal }: CallOptions = {}): Promise<Uint8Array | null> {
    return (await this.#read(key, true, signal)).body;
  }

  /**
   * Raises a mark that stands by itself, for data that is elsewhere. It has nothing to do with the marks of objects, which
   * only a put can raise.
   */
  async raise(claim: Claims, { signal }: CallOptions = {}): Promise<void> {
    const shown = claimOf(claim);
    const key = `${this.#prefix}marks/${hexOf(sha256(utf8.encode(shown.resource)), 32)}`;
    await this.#write(shown, key, { ContentType: "text/plain; charset=utf-8" }, () => shown.resource, true, signal);
  }

  /**
   * Writes an object below the prefix, tries what a paused holder would do to it, and deletes it. Call it when a program
   * starts.
   *
   * @throws UnfitStoreError if the store lets that happen.
   */
  async verify({ signal }: CallOptions = {}): Promise<void> {
    const key = `${this.#prefix}probe/${randomText()}`;
    const write = async (token: bigint, seen: Pick<State, "etag">, passes: boolean, what: string): Promise<void> => {
      const error = await this.#put(new Claim("probe", token), key, {}, "probe", !this.#plain, seen, signal).catch((cause: unknown) => cause ?? "");
      if (error !== undefined && !isConflict(error)) throw this.#wrong("probing", key, error);
      if ((error === undefined) !== passes) throw new UnfitStoreError(`bucket ${this.#name}: it ${passes ? "refused" : "took"} ${what}`);
    };
    const sees = async (token: bigint): Promise<State> => {
      const state = await this.#read(key, false, signal);
      if (state.token === token) return state;
      throw new UnfitStoreError(`bucket ${this.#name}: it gives metadata of token ${String(state.token)} after one of ${String(token)} was written`);
    };
    try {
      await write(1n, { etag: undefined }, true, "a first write with If-None-Match: *");
      await write(2n, { etag: undefined }, false, "a second write with If-None-Match: *");
      await write(3n, { etag: '"00000000000000000000000000000000"' }, false, "a write with If-Match and an ETag that never was");
      const first = await sees(1n);
      await write(4n, first, true, "a write with the present ETag");
      await write(5n, first, false, "a write with the ETag of the write before; leave plainBodies out, if it is set");
      await sees(4n);
    } finally {
      await this.#client.send(new DeleteObjectCommand({ Bucket: this.#name, Key: key }), sending(signal));
    }
  }

  /** Reads the mark, checks the claim and puts the object, and starts again after a conflict. */
  async #write(
    claim: Claim,
    key: string,
    attributes: Attributes,
    change: (old: Uint8Array | null) => Uint8Array | string | Promise<Uint8Array | string>,
    stamped: boolean,
    signal: AbortSignal | undefined,
    whole = false,
  ): Promise<void> {
    for (let wait = shortestPause; ; wait = Math.min(2 * wait, longestPause)) {
      signal?.throwIfAborted();
      const seen = await this.#read(key, whole, signal);
      check(claim, seen.token, this.#once);
      const body = await change(seen.body);
      try {
        await this.#put(claim, key, attributes, body, stamped, seen, signal);
        return;
      } catch (error) {
        // What the SDK has sent again may have been stored the first time, and have been overwritten since.
        if ((attemptsOf(error) > 1 || !isRefusal(error)) && !(error instanceof InvalidError)) {
          throw new UnknownWriteError(`bucket ${this.#name}: writing ${key}: the write may have been made: ${String(error)}`, { cause: error });
        }
        if (!isConflict(error)) throw this.#wrong("writing", key, error);
      }
      await new Promise((resolve) => setTimeout(resolve, Math.random() * wait)); // so that contenders do not meet again
    }
  }

  /** Stores an object if it is still as it was seen. */
  async #put(
    claim: Claim,
    key: string,
    attributes: Attributes,
    body: Uint8Array | string,
    stamped: boolean,
    seen: Pick<State, "etag">,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const bytes = typeof body === "string" ? utf8.encode(body) : body;
    if (bytes.length > maxBody) throw invalid(claim.resource, `the body has more than ${maxBody} bytes; guard an object that names it`);
    const stamp = stamped ? utf8.encode(`\n${metaToken}: ${claim.fence}\n`) : new Uint8Array();
    const whole = new Uint8Array(bytes.length + stamp.length);
    whole.set(bytes);
    whole.set(stamp, bytes.length);
    const metadata = { ...attributes.Metadata, [metaToken]: claim.fence, ...(stamped ? { [metaStamp]: String(stamp.length) } : {}) };
    const condition = seen.etag === undefined ? { IfNoneMatch: "*" } : { IfMatch: seen.etag }; // mutant: TypeScriptObjectsAreOverwritten
    await this.#client.send(
      new PutObjectCommand({ ...attributes, ...condition, Bucket: this.#name, Key: key, Body: whole, Metadata: metadata }),
      sending(signal),
    );
  }

  /**
   * Reads the state of an object, and its body if the whole is asked for. Otherwise it asks for the last byte, and not by
   * HEAD, because there are stores that read the metadata of one write and then the ETag of the next for a HEAD.
   */
  async #read(key: string, whole: boolean, signal: AbortSignal | undefined): Promise<State> {
    const get = async (range?: string): Promise<GetObjectCommandOutput | null> => {
      try {
        return await this.#client.send(new GetObjectCommand({ Bucket: this.#name, Key: key, Range: range }), sending(signal));
      } catch (error) {
        if (codeOf(error) === "NoSuchKey") return null;
        if (codeOf(error) === "InvalidRange" && range !== undefined) return get(); // an empty object, written without the guard
        throw this.#wrong("reading", key, error);
      }
    };
    const out = await get(whole ? undefined : "bytes=-1");
    if (out === null) return { etag: undefined, token: 0n, body: null };
    const bytes = await bytesOf(out);
    if (out.ETag === undefined || out.ETag === "") throw this.#wrong("reading", key, new Error("the store gives no ETag, so nothing can be conditioned on it"));
    const token = this.#tokenOf(key, out.Metadata?.[metaToken]);
    return { etag: out.ETag, token, body: whole ? this.#unstamped(key, out, bytes) : null };
  }

  #tokenOf(key: string, digits: string | undefined): bigint {
    if (digits === undefined) return 0n;
    try {
      return new Claim("mark", parseFence(digits)).token;
    } catch (error) {
      throw new MalformedMarkError(`bucket ${this.#name}, object ${key}: metadata ${metaToken}: ${JSON.stringify(digits.slice(0, 80))}`, { cause: error });
    }
  }

  #unstamped(key: string, out: GetObjectCommandOutput, bytes: Uint8Array): Uint8Array | null {
    if (out.Metadata?.[metaDeleted] !== undefined) return null;
    const length = out.Metadata?.[metaStamp];
    if (length === undefined) return bytes;
    if (/^[0-9]{1,9}$/.test(length) && Number(length) <= bytes.length) return bytes.subarray(0, bytes.length - Number(length));
    throw new MalformedMarkError(`bucket ${this.#name}, object ${key}: a stamp of ${JSON.stringify(length.slice(0, 80))} bytes at the end of ${bytes.length}`);
  }

  #admit(key: string, attributes: Attributes): void {
    if (key === "" || key.startsWith(this.#prefix)) throw invalid(undefined, `key ${JSON.stringify(key)}: it must not be empty, nor begin with ${this.#prefix}`);
    if (["Bucket", "Key", "Body", "IfMatch", "IfNoneMatch"].some((name) => name in attributes)) {
      throw invalid(undefined, "the attributes must not have a bucket, a key, a body or a condition: those are the guard's");
    }
    const name = Object.keys(attributes.Metadata ?? {}).find((name) => name.toLowerCase().startsWith(reserved));
    if (name !== undefined) throw invalid(undefined, `metadata ${JSON.stringify(name)}: names that begin with ${reserved} are the guard's`);
  }

  /** Says where an error came from, and how to make a bucket that is missing. */
  #wrong(doing: string, key: string, cause: unknown): Error {
    const hint = codeOf(cause) === "NoSuchBucket" ? `; create it first: aws s3 mb s3://${this.#name}` : "";
    return new Error(`bucket ${this.#name}: ${doing} ${key}: ${cause instanceof Error ? cause.message : String(cause)}${hint}`, { cause });
  }
}

/** Reads the body of an answer, up to the most that a guarded object has. */
async function bytesOf(out: GetObjectCommandOutput): Promise<Uint8Array> {
  const most = maxBody + 1024; // with a stamp
  if ((out.ContentLength ?? 0) > most) throw invalid(undefined, `the object has more than ${maxBody} bytes`);
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of (out.Body ?? []) as AsyncIterable<Uint8Array>) {
    if ((size += piece.length) > most) throw invalid(undefined, `the object has more than ${maxBody} bytes`);
    pieces.push(piece);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

function sending(signal: AbortSignal | undefined): { abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal };
}

/** Returns the code of a store's error, empty for any other. */
function codeOf(error: unknown): string {
  return statusOf(error) !== undefined && error instanceof Error ? error.name : "";
}

interface Answered {
  $metadata?: { httpStatusCode?: number; attempts?: number };
}

function statusOf(error: unknown): number | undefined {
  return (error as Answered | undefined)?.$metadata?.httpStatusCode;
}

/** Returns how often the SDK has sent a request that failed. */
function attemptsOf(error: unknown): number {
  return (error as Answered | undefined)?.$metadata?.attempts ?? 1;
}

/** Reports whether the store has answered that it did not take a write. */
function isRefusal(error: unknown): boolean {
  return Math.floor((statusOf(error) ?? 0) / 100) === 4;
}

/** Reports whether a put was refused because of its condition: the object has changed, is gone, or is being written. */
function isConflict(error: unknown): boolean {
  return statusOf(error) === 412 || ["PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey"].includes(codeOf(error));
}
