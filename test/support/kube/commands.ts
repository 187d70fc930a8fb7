import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { stringify } from "yaml";
import { LOOPBACK } from "../../../local/process/ports.ts";

const run = promisify(execFile);

interface CommandOptions {
  /** For standard input, as with `-f -`. */
  input?: string;
  /** The user whose rights it has; the administrator if absent. */
  kubeconfig?: string;
}

/** Runs a program to its end and gives what it printed. @throws Error with what it complained of. */
export type Command = (parameters: readonly string[], options?: CommandOptions) => Promise<string>;

/** For Go programs that end within a second: their memory goes with them, and collecting it is a fifth of what they cost. */
export const UNCOLLECTED = { GOGC: "off", GOMEMLIMIT: "512MiB" };

/** A program that finds the API server in a kubeconfig, and keeps what it keeps in one directory. */
export function createCommand(program: string, defaults: { directory: string; kubeconfig: string }): Command {
  return async (parameters, { input = "", kubeconfig = defaults.kubeconfig } = {}) => {
    const running = run(program, [...parameters], {
      env: { ...UNCOLLECTED, KUBECONFIG: kubeconfig, HOME: defaults.directory, TERM: "dumb" },
      cwd: defaults.directory,
      maxBuffer: 64 * 1024 * 1024,
      timeout: 120_000,
    });
    running.child.stdin?.end(input);
    try {
      return (await running).stdout;
    } catch (error) {
      const complaint = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
      throw new Error(complaint === "" ? `${path.basename(program)} ended without a word` : complaint, { cause: error });
    }
  };
}

export interface KubeconfigOptions {
  file: string;
  port: number;
  ca: string;
  token: string;
  namespace?: string;
}

/** @returns the file. */
export async function writeKubeconfig({ file, port, ca, token, namespace = "default" }: KubeconfigOptions): Promise<string> {
  const server = `https://${LOOPBACK}:${port}`;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server, "certificate-authority-data": Buffer.from(ca).toString("base64") } }],
    users: [{ name: "test", user: { token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test", namespace } }],
    "current-context": "test",
  };
  await writeFile(file, stringify(config), { mode: 0o600 });
  return file;
}
