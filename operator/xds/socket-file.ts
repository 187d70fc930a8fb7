import { lstat, mkdir, unlink } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { errorCode } from "../../runtime/error-code.ts";

/**
 * Prepares a Unix socket that only this user can reach: creates its directory, and removes what a killed process left. The
 * directory matters, because some systems ignore the mode of the socket itself.
 * @throws Error with one sentence if others may enter the directory.
 */
export async function prepareSocket(file: string): Promise<void> {
  const directory = path.dirname(file);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const status = await lstat(directory);
  const isOurs = status.isDirectory() && status.uid === process.getuid?.() && (status.mode & 0o077) === 0;
  if (!isOurs)
    throw new Error(
      `${directory} must be a directory that belongs to this user and that nobody else can enter (chmod 700): its socket hands out providers' credentials.`,
    );
  await removeSocket(file);
}

async function removeSocket(file: string): Promise<void> {
  try {
    if ((await lstat(file)).isSocket()) await unlink(file);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}
