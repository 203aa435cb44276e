// A node of the real binary, its command line, and requests over NATS.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const binary = process.env.HOLDFAST_BINARY;

export class Service {
  // start starts a node on free addresses, which it keeps after a restart.
  static async start(...args) {
    const service = new Service();
    service.data = await mkdtemp(join(tmpdir(), "holdfast-page-"));
    service.args = args;
    service.addresses = ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"];
    await service.restart();
    return service;
  }

  async restart() {
    const args = ["serve", "--name", "n1", "--shards", "4", "--data", this.data, ...this.addresses, ...this.args];
    this.process = spawn(binary, args, { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, HOLDFAST_LOG_LEVEL: "error" } });
    for await (const line of createInterface({ input: this.process.stdout })) {
      this.nats ??= line.match(/NATS at nats:\/\/(\S+),/)?.[1];
      this.url ??= line.match(/^Page: +(\S+)/)?.[1];
      if (this.nats && line.startsWith("Page:")) break;
    }
    this.addresses = ["--listen", this.nats, "--http", new URL(this.url).host];
  }

  async kill() {
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
    const payload = JSON.stringify(message);
    const [host, port] = this.nats.split(":");
    const socket = connect(Number(port), host);
    socket.write(`CONNECT {"verbose":false}\r\nPUB ${subject} _INBOX.page ${Buffer.byteLength(payload)}\r\n${payload}\r\nPING\r\n`);
    let got = "";
    for await (const chunk of socket) if ((got += chunk).includes("PONG")) break;
    socket.destroy();
  }
}
