import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import process from "node:process";

/** Short name of the content of files, for this kind of machine. */
export async function fingerprint(files: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const file of files) hash.update(await readFile(file));
  return hash.update(`${process.platform} ${process.arch}`).digest("hex").slice(0, 16);
}
