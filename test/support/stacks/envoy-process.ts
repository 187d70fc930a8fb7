import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findEnvoy } from "../../../local/envoy.ts";
import { readComplaint } from "../../../local/process/complaint.ts";
import type { EnvoyConfig } from "../../../operator/bootstrap/envoy-config.ts";
import { eventually } from "../eventually.ts";

export interface EnvoyProcess {
  readonly adminUrl: string;
  /** Text of an admin page. */
  admin(path: string): Promise<string>;
  /** Lines of the access log, as JSON. */
  accessLog(): Promise<Record<string, unknown>[]>;
  /** Errors that it logged. */
  complaints(): string[];
  /** @returns its exit code; null where a signal or a crash ended it. */
  stop(): Promise<number | null>;
  /** Before that, and for good. */
  end(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
}

/** A real Envoy on a bootstrap; its own log is shown only when it does not come up. */
export async function startEnvoyProcess(config: {
  bootstrap: EnvoyConfig;
  adminPort: number;
  accessLogPath: string;
  /** False for an Envoy that waits for the operator. */
  isReadyExpected?: boolean;
}): Promise<EnvoyProcess> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-envoy-"));
  const file = join(directory, "envoy.json");
  await writeFile(file, JSON.stringify(config.bootstrap));
  const binary = await findEnvoy({ environment: process.env, onProgress: (line) => console.log(line) });
  const child = spawn(binary, ["-c", file, "--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const exited = once(child, "exit");
  const adminUrl = `http://127.0.0.1:${config.adminPort}`;
  const admin = async (path: string) => (await fetch(`${adminUrl}${path}`)).text();

  if (config.isReadyExpected ?? true) {
    try {
      await eventually(
        async () => {
          if (child.exitCode !== null) throw new Error("Envoy ended");
          const response = await fetch(`${adminUrl}/ready`);
          if (response.status !== 200) throw new Error(`Envoy is not ready: ${await response.text()}`);
        },
        { withinMs: 20_000 },
      );
    } catch (error) {
      child.kill("SIGKILL");
      throw new Error(`Envoy did not come up:\n${log}`, { cause: error });
    }
  }
  return {
    adminUrl,
    admin,
    async accessLog() {
      // Envoy writes the log in batches; this asks for what it has.
      await fetch(`${adminUrl}/reopen_logs`, { method: "POST" });
      const text = await readFile(config.accessLogPath, "utf8");
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line): Record<string, unknown> => JSON.parse(line));
    },
    complaints: () => log.split("\n").flatMap((line) => readComplaint(line)?.message ?? []),
    async end(signal) {
      child.kill(signal);
      await exited;
    },
    async stop() {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), 5_000);
      await exited;
      clearTimeout(timer);
      await rm(directory, { recursive: true });
      return child.exitCode;
    },
  };
}

/** Validates a bootstrap with Envoy without starting it. @throws with Envoy's error. */
export async function validateBootstrap(bootstrap: EnvoyConfig): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-envoy-"));
  const file = join(directory, "envoy.json");
  try {
    await writeFile(file, JSON.stringify(bootstrap));
    const binary = await findEnvoy({ environment: process.env, onProgress: (line) => console.log(line) });
    const { stdout, stderr } = await promisify(execFile)(binary, ["--mode", "validate", "-c", file]);
    return stdout + stderr;
  } finally {
    await rm(directory, { recursive: true });
  }
}
