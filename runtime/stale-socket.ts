import { lstat, rm } from "node:fs/promises";
import { connect } from "node:net";

/** Removes the Unix socket of a killed process. A socket with a listener stays, and so does any other file. */
export async function removeStaleSocket(file: string): Promise<void> {
  const found = await lstat(file).catch(() => undefined);
  if (found?.isSocket() === true && !(await isListening(file))) await rm(file, { force: true });
}

function isListening(file: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const connection = connect(file, () => resolve(true)).on("error", () => resolve(false));
  return promise.finally(() => connection.destroy());
}
