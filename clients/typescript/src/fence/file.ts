/**
 * A guard for the files of a directory that several processes change.
 *
 * The mark of a resource is a file below .fence in the directory. A change holds a lock file of the directory from the
 * check to its end, so that the guards of all processes, also those in Go and Python, change the directory one at a time.
 * A paused process blocks the others until it goes on or dies; it cannot write late. The mark is on disk before the
 * change is made.
 *
 * Node.js cannot lock files, so each change runs the command `flock` of util-linux or BusyBox, which locks a file that
 * this process holds. The directory is on a local file system of Unix, and is not moved. A process that writes without
 * the guard is not refused.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { constants, type BigIntStats } from "node:fs";
import { lstat, mkdir, open, rename, unlink, type FileHandle } from "node:fs/promises";
import { join, resolve } from "node:path";
import { last, parseFence } from "../fence.js";
import { hexOf, sha256 } from "../sha256.js";
import { unless } from "../signals.js";
import { claimOf, invalid, type Claim, type Claims } from "./claim.js";
import { check, FenceError, MalformedMarkError, UnknownWriteError } from "./rule.js";

// The names are those of clients/fence/fencefile.
const control = ".fence";
const lockName = "lock";
const newName = "new";

const utf8 = new TextEncoder();

/** Options of a {@link Directory}. */
export interface DirectoryOptions {
  /** Whether each token is accepted a single time, for a job that must not run twice under one grant. */
  once?: boolean;
}

/** Options of a change. */
export interface ChangeOptions {
  /** Ends the wait for the turn. Nothing was written then. */
  signal?: AbortSignal | undefined;
}

/** Options of a write. */
export interface WriteOptions extends ChangeOptions {
  /** The permissions of the file, before umask; 0o644. */
  mode?: number | undefined;
}

/** A guarded directory. {@link Directory.open} makes it. */
export class Directory {
  readonly #path: string;
  readonly #control: string;
  readonly #once: boolean;
  /** The end of the last change of this process. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(path: string, once: boolean) {
    this.#path = path;
    this.#control = join(path, control);
    this.#once = once;
  }

  /** Returns the guard of a directory that exists. */
  static async open(path: string, { once = false }: DirectoryOptions = {}): Promise<Directory> {
    const guard = new Directory(resolve(path), once);
    await mkdir(guard.#control).catch((error: unknown) => {
      if (codeOf(error) !== "EEXIST") throw error;
    });
    await guard.#checkControl();
    await syncDirectory(guard.path);
    return guard;
  }

  /** The directory. */
  get path(): string {
    return this.#path;
  }

  /**
   * Replaces a file, or creates it. When the call resolves, the content is on disk. Readers see the old content or the new,
   * also after a crash.
   *
   * @param file - a path inside the directory, in whose directories no symbolic link may be
   * @throws StaleClaimError if the claim was refused, InvalidError if the claim or the name breaks a rule, and
   * MalformedMarkError if the mark is not one; nothing was written then. After an UnknownWriteError the file was written,
   * and a crash may undo it. After any other error it was not.
   */
  async write(claim: Claims, file: string, content: Uint8Array | string, { mode = 0o644, signal }: WriteOptions = {}): Promise<void> {
    await this.#change(claimOf(claim), file, signal, (at) => this.#replace(at, bytesOf(content), mode));
  }

  /**
   * Replaces a file by what a function makes of its content, null if there is no file, as {@link Directory.write} does.
   * Reading and writing are one step with the check, so no other change is lost. All others wait for the function, which
   * must not call the guard. If it fails, the file stays as it is, and the mark is raised.
   */
  async modify(
    claim: Claims,
    file: string,
    change: (old: Uint8Array | null) => Uint8Array | string | Promise<Uint8Array | string>,
    { mode = 0o644, signal }: WriteOptions = {},
  ): Promise<void> {
    await this.#change(claimOf(claim), file, signal, async (at) => this.#replace(at, bytesOf(await change(await contentOf(at))), mode));
  }

  /** Removes a file. If there is none, the error has the code ENOENT, and the mark is raised nevertheless. */
  async remove(claim: Claims, file: string, { signal }: ChangeOptions = {}): Promise<void> {
    await this.#change(claimOf(claim), file, signal, async (at) => {
      await unlink(at);
      await settle(join(at, ".."));
    });
  }

  /** Raises the mark that all changes check, and leaves the files as they are. */
  async raise(claim: Claims, { signal }: ChangeOptions = {}): Promise<void> {
    await this.#change(claimOf(claim), undefined, signal, () => Promise.resolve());
  }

  /**
   * Makes a change of the directory in one step with the check. All others wait for it, so that had better be short. It
   * must leave .fence alone and not call the guard. It is as durable as it makes itself; after an error of its own the
   * mark stays raised.
   */
  async do<T>(claim: Claims, change: (path: string) => Promise<T>, { signal }: ChangeOptions = {}): Promise<T> {
    return this.#change(claimOf(claim), undefined, signal, change);
  }

  /** Makes changes of this process one after the other: each waits for the lock file in a process of its own. */
  async #change<T>(claim: Claim, file: string | undefined, signal: AbortSignal | undefined, change: (at: string) => Promise<T>): Promise<T> {
    const before = this.#turn;
    const now = (async () => {
      await unless(signal, before); // who goes on without its turn waits for the lock file
      signal?.throwIfAborted();
      const lock = await this.#lock(signal);
      try {
        const at = file === undefined ? this.#path : await this.#checkName(file);
        await this.#raise(claim);
        return await change(at);
      } finally {
        await lock.close(); // by which the system lets go
      }
    })();
    this.#turn = now.catch(() => undefined);
    return now;
  }

  async #lock(signal: AbortSignal | undefined): Promise<FileHandle> {
    await this.#checkControl();
    const path = join(this.#control, lockName);
    const lock = await open(path, constants.O_RDONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o660);
    try {
      await flock(lock.fd, signal);
      if (!same(await lock.stat({ bigint: true }), await statOf(path))) {
        throw new FenceError(`${path} was replaced while it was locked; do not remove it`);
      }
      return lock;
    } catch (error) {
      await lock.close();
      throw error;
    }
  }

  /** Refuses a symbolic link in the place of the guard's directory. */
  async #checkControl(): Promise<void> {
    if (!(await lstat(this.#control)).isDirectory()) throw new FenceError(`${this.#control} is not a directory; move it away`);
  }

  /** Returns where a file of the caller's is. Directories are compared as such, because one may have many names. */
  async #checkName(file: string): Promise<string> {
    const directories = file.split("/");
    const base = directories.pop() ?? "";
    if (file.includes("\0") || ["", ".", ".."].includes(base) || directories.includes("..") || file.startsWith("/")) {
      throw invalid(undefined, `file name ${JSON.stringify(file)}: it must be a path inside the directory, without ..`);
    }
    let parent = this.#path;
    for (const directory of directories) {
      parent = join(parent, directory);
      if ((await lstat(parent)).isSymbolicLink()) throw invalid(undefined, `file name ${JSON.stringify(file)}: ${directory} is a symbolic link`);
    }
    const at = join(parent, base);
    const own = await statOf(this.#control);
    if (same(own, await statOf(parent)) || same(own, await statOf(at))) {
      throw invalid(undefined, `file name ${JSON.stringify(file)}: ${control} belongs to the guard`);
    }
    return at;
  }

  /** Checks the claim and raises its mark. When it resolves, the mark is on disk. */
  async #raise(claim: Claim): Promise<void> {
    const at = join(this.#control, hexOf(sha256(utf8.encode(claim.resource)), 32));
    const highest = await markOf(at, claim.resource);
    check(claim, highest, this.#once);
    try {
      // If the mark is as it should be, its writer may have died before it was on disk.
      if (claim.token === highest) await settle(this.#control);
      else await this.#replace(at, utf8.encode(`${claim.fence}\n${claim.resource}\n`), 0o666);
    } catch (error) {
      if (!(error instanceof UnknownWriteError)) throw error;
      throw new Error("a crash may undo the mark, so the change was not made", { cause: error.cause });
    }
  }

  /** Puts a new file in the place of another one, so that a crash leaves the old one or the new one. */
  async #replace(at: string, content: Uint8Array, mode: number): Promise<void> {
    const path = join(this.#control, newName);
    // There is one writer at a time: it removes what a crash has left.
    await unlink(path).catch((error: unknown) => {
      if (codeOf(error) !== "ENOENT") throw error;
    });
    const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(path, at);
    await settle(join(at, ".."));
  }
}

/** Waits for the lock on an open file. It is that of the open file, which the command shares, and outlasts the command. */
async function flock(fd: number, signal: AbortSignal | undefined): Promise<void> {
  const command = spawn("flock", ["-x", "3"], { stdio: ["ignore", "ignore", "pipe", fd] });
  const stop = (): void => { command.kill(); };
  signal?.addEventListener("abort", stop);
  let problem = "";
  command.stderr?.on("data", (piece: unknown) => { problem = (problem + String(piece)).slice(0, 1000); });
  try {
    const code = await new Promise<number | null>((done, failed) => command.on("close", done).on("error", failed));
    signal?.throwIfAborted();
    if (code !== 0) throw new FenceError(`flock ended with ${String(code)}: ${problem}`);
  } catch (error) {
    if (codeOf(error) === "ENOENT") throw new FenceError("the command flock is missing; install util-linux", { cause: error });
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

/** Returns the token in a mark, 0 if there is none. */
async function markOf(at: string, resource: string): Promise<bigint> {
  const content = await contentOf(at, 2048); // more than any mark has
  if (content === null) return 0n;
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(content);
  const digits = text.slice(0, 15);
  if (/^[0-9]{15}$/.test(digits) && text.slice(15) === `\n${resource}\n`) {
    const token = parseFence(digits);
    if (token > 0n && token <= last) return token;
  }
  throw new MalformedMarkError(
    `${at}, of ${JSON.stringify(resource)}, is not a mark: ${JSON.stringify(text.slice(0, 600))}; if the highest token is known, write it there ` +
      "in 15 digits, and the resource on the second line",
  );
}

/** Returns the content of a file, or its first bytes, null if there is none. It follows no link, and waits for no pipe. */
async function contentOf(at: string, most?: number): Promise<Uint8Array | null> {
  let file: FileHandle;
  try {
    file = await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
  try {
    if (!(await file.stat()).isFile()) throw new FenceError(`${at} is not a regular file; move it away`);
    if (most === undefined) return await file.readFile();
    const { buffer, bytesRead } = await file.read(new Uint8Array(most), 0, most);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Brings a change of the names in a directory to disk. The change was made, so an error leaves open whether it lasts. */
async function settle(directory: string): Promise<void> {
  await syncDirectory(directory).catch((cause: unknown) => {
    throw new UnknownWriteError(`the change was made, and a crash may undo it: ${String(cause)}`, { cause });
  });
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Returns what is at a path, undefined if nothing is. */
async function statOf(path: string): Promise<BigIntStats | undefined> {
  try {
    return await lstat(path, { bigint: true });
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function same(a: BigIntStats | undefined, b: BigIntStats | undefined): boolean {
  return a !== undefined && a.dev === b?.dev && a.ino === b.ino;
}

function bytesOf(content: Uint8Array | string): Uint8Array {
  return typeof content === "string" ? utf8.encode(content) : content;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
