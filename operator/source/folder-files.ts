import { constants, type Stats } from "node:fs";
import { lstat, open, readdir, type FileHandle } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "../../runtime/error-code.ts";
import type { FolderFile } from "./folder-content.ts";

/** Some 800 Models. Reading the largest accepted file takes a second of the operator's time. */
const MAX_FILE_BYTES = 256 * 1024;
const MAX_FILES = 500;

const UNSETTLED = "was modified while being read; it will be read again";
const MAX_ATTEMPTS = 3;
const PAUSE_MS = 20;

/** The YAML files of a folder: the text of each, or why it has none. */
export async function readFolderFiles(folder: string): Promise<FolderFile[]> {
  const names = (await readdir(folder)).filter((name) => /^[^.].*\.ya?ml$/.test(name)).sort();
  const files: FolderFile[] = [];
  for (const [index, name] of names.entries()) {
    const problem = `is ignored, because the folder has ${names.length} files, more than ${MAX_FILES}; combine Models in one file`;
    const file = index < MAX_FILES ? await readSettled(folder, name) : { name, problem };
    if (file !== null) files.push(file);
  }
  return files;
}

/** Half of a file may be valid YAML, and would withdraw the Models of the other half. */
async function readSettled(folder: string, name: string): Promise<FolderFile | null> {
  for (let attempt = 1; ; attempt++) {
    const file = await readOne(folder, name);
    if (file === null || !("problem" in file) || file.problem !== UNSETTLED || attempt === MAX_ATTEMPTS) return file;
    await sleep(PAUSE_MS);
  }
}

async function readOne(folder: string, name: string): Promise<FolderFile | null> {
  const file = path.join(folder, name);
  let handle: FileHandle;
  try {
    // Without O_NONBLOCK a named pipe would block a thread until somebody writes into it.
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const code = errorCode(error) ?? "unknown error";
    // Removed between the listing and the reading.
    if (code === "ENOENT" && !(await isThere(file))) return null;
    return { name, problem: UNREADABLE[code] ?? `cannot be read (${code})` };
  }
  try {
    const status = await handle.stat();
    if (!status.isFile()) return { name, problem: "is not a file; rename folders and pipes so that they do not end in .yaml" };
    const bytes = Buffer.alloc(MAX_FILE_BYTES + 1);
    const length = await readInto(handle, bytes);
    if (length > MAX_FILE_BYTES)
      return { name, problem: `is larger than ${MAX_FILE_BYTES / 1024} KiB; spread its resources over several files` };
    if (hasChanged(status, await handle.stat())) return { name, problem: UNSETTLED };
    const text = decode(bytes.subarray(0, length));
    if (text === undefined) return { name, problem: "is not text in UTF-8" };
    return { name, text, createdSeconds: Math.floor(status.birthtimeMs / 1000) };
  } catch (error) {
    return {
      name,
      problem: `cannot be read (${errorCode(error) ?? "unknown error"})`,
    };
  } finally {
    await handle.close();
  }
}

function hasChanged(before: Stats, after: Stats): boolean {
  return before.size !== after.size || before.mtimeMs !== after.mtimeMs;
}

/** @returns undefined for anything but text: invalid bytes would become other letters, even in a credential. */
function decode(bytes: Buffer): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: "is a broken symbolic link",
  ELOOP: "is a symbolic link to itself",
  EACCES: "cannot be read: this user lacks the permission",
  ENXIO: "is not a file; rename folders and pipes so that they do not end in .yaml",
};

/** @returns the number of bytes read, at most as many as fit. */
async function readInto(handle: FileHandle, bytes: Buffer): Promise<number> {
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return length;
}

async function isThere(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    () => false,
  );
}
