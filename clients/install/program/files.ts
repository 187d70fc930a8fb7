import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { userInfo } from "node:os";
import path from "node:path";
import process from "node:process";
import { Refused } from "./refused.ts";

const MAX_BYTES = 5_000_000;

/** The bytes of a settings file; undefined if there is none. @throws Refused if it cannot be edited. */
export function readSettings(file: string): Buffer | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (!found.isFile() || !isAllowed(file, constants.R_OK)) throw new Refused("It is not a readable file.");
  // The owner's permission, which root does not need.
  if ((found.mode & 0o200) === 0 || !isAllowed(file, constants.W_OK)) throw new Refused("It is read-only.");
  if (found.size > MAX_BYTES) throw new Refused("It is larger than 5 MB.");
  return readFileSync(file);
}

function isAllowed(file: string, mode: number): boolean {
  try {
    accessSync(file, mode);
    return true;
  } catch {
    return false;
  }
}

/** Replaces a file atomically. A link stays a link. */
export function replaceFile(file: string, bytes: Buffer | string, mode: number): void {
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    writeFileSync(file, bytes);
    protect(file, mode);
    return;
  }
  const fresh = `${file}.model-gateway`;
  try {
    rmSync(fresh, { force: true });
    writeFileSync(fresh, bytes, { mode: 0o600, flag: "wx" });
    protect(fresh, mode);
    renameSync(fresh, file);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}

/** Windows has no modes: a file with a key is restricted to its owner by an access list. */
export function protect(file: string, mode: number): void {
  if (process.platform !== "win32") {
    chmodSync(file, mode);
    return;
  }
  if (mode !== 0o600) return;
  spawnSync("icacls", [file, "/inheritance:r", "/grant:r", `${userInfo().username}:(F)`], { stdio: "ignore", windowsHide: true });
}

/** Returns the folders that it created, the outermost first. */
export function makeFolders(folder: string): string[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return [];
  const parents = makeFolders(path.dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
  return [...parents, folder];
}

export function sumOf(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

export function modeOf(file: string): number {
  return statSync(file).mode & 0o777;
}
