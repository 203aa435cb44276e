// A node of the real binary, its command line, and requests over NATS.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const binary = process.env.HOLDFAST_BINARY;

export class Service {
  constructor(name, args) {
    this.name = name;
    this.args = args;
    this.addresses = ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"];
  }

  // start starts a node on free addresses, which it keeps after a restart.
  static async start(...args) {
    const service = new Service("n1", ["--shards", "4", ...args]);
    await service.restart();
    return service;
  }

  // cluster starts n nodes, each with a NATS server in it.
  static async cluster(n, ...args) {
    const routes = await freeAddresses(n);
    const all = routes.map((at, i) => new Service(`n${i + 1}`,
      ["--shards", "4", "--replicas", `${n}`, "--cluster-listen", at, "--routes", routes.join(), ...args]));
    await Promise.all(all.map((s) => s.restart()));
    return all;
  }

  async restart() {
    this.data ??= await mkdtemp(join(tmpdir(), "holdfast-page-"));
    const args = ["serve", "--name", this.name, "--data", this.data, ...this.addresses, ...this.args];
    this.process = spawn(binary, args, { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, HOLDFAST_LOG_LEVEL: "error" } });
    for await (const line of createInterface({ input: this.process.stdout })) {
      this.nats ??= line.match(/NATS at nats:\/\/(\S+),/)?.[1];
      this.url ??= line.match(/^Page: +(\S+)/)?.[1];
      if (this.nats && line.startsWith("Page:")) break;
    }
    this.addresses = ["--listen", this.nats, "--http", new URL(this.url).host];
  }

  async kill() {
    if (this.process.exitCode !== null || this.process.signalCode) return;
    this.process.kill("SIGKILL");
    await once(this.process, "exit");
  }

  async stop() {
    await this.kill();
    await rm(this.data, { recursive: true });
  }

  // run runs a command to its end and returns what it prints.
  async run(...args) {
    const { stdout } = await promisify(execFile)(binary, [...args, "--server", `nats://${this.nats}`]);
    return stdout;
  }

  // begin starts a command that goes on, such as one that waits in a queue.
  begin(...args) {
    return spawn(binary, [...args, "--server", `nats://${this.nats}`], { stdio: "ignore" });
  }

  // publish sends one message over NATS and returns when the server has it.
  async publish(subject, message) {
    const connection = this.connect();
    connection.publish(subject, message);
    await connection.until("PONG", 1, "PING\r\n");
    connection.socket.destroy();
  }

  // crowd acquires locks of a deployment of one shard, and has requests wait for them: calls are those of batches. It
  // returns what ends the connection of those that wait.
  async crowd(locks, waiters) {
    const connection = this.connect();
    const size = 1000; // calls in a batch at most
    const send = (calls) => connection.publish("holdfast.shard.0.batch", { calls: calls.map((call, i) => ({ id: i + 1, ...call })) });
    for (let at = 0; at < locks.length; at += size) {
      const calls = locks.slice(at, at + size);
      send(calls);
      await connection.until('"GRANTED"', calls.length);
    }
    send(waiters);
    await connection.until("PONG", 1, "PING\r\n");
    return () => connection.socket.destroy();
  }

  // connect opens a connection to NATS that gets the answers to what it publishes.
  connect() {
    const [host, port] = this.nats.split(":");
    const socket = connect(Number(port), host);
    socket.write('CONNECT {"verbose":false}\r\nSUB _INBOX.page 1\r\n');
    const publish = (subject, message) => {
      const payload = JSON.stringify(message);
      socket.write(`PUB ${subject} _INBOX.page ${Buffer.byteLength(payload)}\r\n${payload}\r\n`);
    };
    // until waits until a text has come so often, after more was written.
    const until = async (text, times, more = "") => {
      socket.write(more);
      let rest = "";
      while (times > 0) {
        const [chunk] = await once(socket, "data");
        const parts = (rest + chunk).split(text);
        times -= parts.length - 1;
        rest = parts.at(-1).slice(-text.length);
      }
    };
    return { socket, publish, until };
  }
}

// freeAddresses returns addresses of this host on which nothing listens.
async function freeAddresses(n) {
  const servers = Array.from({ length: n }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((s) => once(s, "listening")));
  const addresses = servers.map((s) => `127.0.0.1:${s.address().port}`);
  await Promise.all(servers.map((s) => once(s.close(), "close")));
  return addresses;
}
