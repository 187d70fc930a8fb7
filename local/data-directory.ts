import { access, chmod, constants, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { errorCode } from "../runtime/error-code.ts";

/** Where the stack stores everything. Deleting the directory starts afresh. */
export interface DataDirectory {
  readonly root: string;
  readonly postgres: string;
  readonly logs: string;
  /** Usage that is not in Postgres yet. */
  readonly journal: string;
  /** Secret that keys are hashed with; base64. */
  readonly pepper: string;
  /** Secret that opens accounts' provider keys; base64. */
  readonly providerKeys: string;
  /** GATEWAY_BASE_URL, GATEWAY_API_KEY and DASHBOARD_…, for `source`. */
  readonly settings: string;
  /** The Models, unless another folder is given; copied from the samples at the first start. */
  readonly manifests: string;
  /** Envoy's bootstrap, for reading and experiments. */
  readonly envoy: string;
  /** Of Unix sockets. */
  readonly sockets: string;
  readonly lock: string;
  readonly processes: string;
}

/** @throws Error with one sentence if this user cannot write there. */
export async function openDataDirectory(directory: string): Promise<DataDirectory> {
  const root = path.resolve(directory);
  const logs = path.join(root, "logs");
  try {
    await mkdir(logs, { recursive: true });
  } catch (error) {
    throw new Error(
      `The data directory ${root} cannot be created (${errorCode(error) ?? "unknown error"}): choose another one with --data.`,
      {
        cause: error,
      },
    );
  }
  for (const directory of [root, logs]) {
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK).catch((error: unknown) => {
      throw new Error(
        `The data directory cannot be written (${errorCode(error) ?? "unknown error"} at ${directory}): start as the user who owns it, or choose another one with --data.`,
        { cause: error },
      );
    });
  }
  // Logs and journals contain accounts and their charges.
  for (const closed of [logs, path.join(root, "journal")]) {
    await mkdir(closed, { recursive: true });
    await chmod(closed, 0o700);
  }
  return {
    root,
    logs,
    journal: path.join(root, "journal"),
    postgres: path.join(root, "postgres"),
    pepper: path.join(root, "pepper"),
    providerKeys: path.join(root, "provider-keys"),
    settings: path.join(root, "local.env"),
    manifests: path.join(root, "manifests"),
    envoy: path.join(root, "envoy.yaml"),
    sockets: path.join(root, "sockets"),
    lock: path.join(root, "lock"),
    processes: path.join(root, "processes.json"),
  };
}

/** Replaces a private file; a reader sees the old text or the new, never half of it. */
export async function writeSecret(file: string, text: string): Promise<void> {
  const unfinished = `${file}.unfinished`;
  await writeFile(unfinished, text, { mode: 0o600 });
  // The mode above applies only to a new file.
  await chmod(unfinished, 0o600);
  await rename(unfinished, file);
}

/** @returns undefined if there is no such file. */
export async function readOptional(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
