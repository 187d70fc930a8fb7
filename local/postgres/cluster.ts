import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { identityOf } from "../../runtime/file-identity.ts";
import type { PostgresBinaries } from "./binaries.ts";
import { chooseIdentity, commandAs, SYSTEM_PATH, type Identity } from "./identity.ts";

export const SUPERUSER = "postgres";

/** A database cluster on disk, ready to be started. */
export interface Cluster {
  directory: string;
  identity: Identity;
  /** Password of the superuser; also in `password` (0600) next to the cluster. */
  password: string;
}

interface PrepareOptions {
  binaries: PostgresBinaries;
  dataDirectory: string;
  log: (line: string) => void;
}

/** Finds the cluster in a data directory, or creates one. An incomplete one, left by a killed start, is created again. */
export async function prepareCluster({ binaries, dataDirectory, log }: PrepareOptions): Promise<Cluster> {
  const directory = path.join(dataDirectory, "cluster");
  const passwordFile = path.join(dataDirectory, "password");
  await mkdir(dataDirectory, { recursive: true });
  const ownerUid = await ownerOf(directory);
  const identity = await chooseIdentity({ program: binaries.postgres, directory: dataDirectory, ownerUid });
  if (ownerUid === undefined) await createCluster({ binaries, directory, passwordFile, identity, log });
  return { directory, identity, password: await readPassword(passwordFile, dataDirectory) };
}

/** Which cluster a data directory has now, by a file that Postgres never writes again; undefined if there is none. */
export async function identifyCluster(dataDirectory: string): Promise<string | undefined> {
  return await identityOf(path.join(dataDirectory, "cluster", "PG_VERSION"));
}

async function readPassword(file: string, dataDirectory: string): Promise<string> {
  const password = (await readFile(file, "utf8").catch(() => "")).trim();
  if (password !== "") return password;
  throw new Error(
    `The database password is missing from ${file}: restore that file from a backup, or remove ${dataDirectory} to start with a new database, without the accounts, keys and credit of the old one.`,
  );
}

async function createCluster(options: {
  binaries: PostgresBinaries;
  directory: string;
  passwordFile: string;
  identity: Identity;
  log: (line: string) => void;
}): Promise<void> {
  const { directory, passwordFile, identity } = options;
  const unfinished = `${directory}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  await writeFile(passwordFile, `${randomBytes(24).toString("base64url")}\n`, { mode: 0o600 });
  if (identity.kind !== "self") {
    const { uid, gid } = identity.user;
    await chown(unfinished, uid, gid);
    await chown(passwordFile, uid, gid);
  }
  await initialise({ ...options, directory: unfinished });
  // Only a complete cluster ever gets the name.
  await rename(unfinished, directory);
}

/** The first error: what follows says only that it gives up. */
export function reasonIn(lines: readonly string[]): string {
  const [, reason] = /(?:^|\n)[^\n]*\b(?:PANIC|FATAL|ERROR|error): +([^\n]+)/.exec(lines.join("\n")) ?? [];
  return reason ?? lines.slice(-3).join(" ");
}

/**
 * initdb runs the server in a shell, its path between double quotes.
 * @throws Error with one sentence if the shell would read another path.
 */
export function checkQuotable(initdb: string): void {
  if (!/["$`\\]/.test(initdb)) return;
  throw new Error(
    `PostgreSQL cannot run from ${path.dirname(initdb)}, whose name contains a double quote, a dollar sign, a backtick or a backslash: move this checkout.`,
  );
}

async function initialise(options: {
  binaries: PostgresBinaries;
  directory: string;
  passwordFile: string;
  identity: Identity;
  log: (line: string) => void;
}): Promise<void> {
  const { initdb } = options.binaries;
  checkQuotable(initdb);
  const { program, parameters, uid, gid } = commandAs(options.identity, initdb, [
    `--pgdata=${options.directory}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${options.passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    // The built-in provider: text sorts the same on every machine, whatever its locales.
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
  ]);
  const child = spawn(program, parameters, {
    uid,
    gid,
    cwd: "/",
    env: { PATH: SYSTEM_PATH },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => {
      lines.push(line);
      options.log(line);
    });
  }
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`PostgreSQL could not make its data directory ${options.directory}: ${reasonIn(lines)}`);
}

async function ownerOf(directory: string): Promise<number | undefined> {
  return stat(directory).then(
    ({ uid }) => uid,
    () => undefined,
  );
}
