import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";

/** Of texts and values. */
export function fingerprintOf(...parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
}

/** Of files, and of everything in folders: their names and content. */
export async function fingerprintOfFiles(root: string, names: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const name of [...names].sort()) {
    for (const file of await filesOf(root, name)) {
      const content = await readFile(path.join(root, file));
      hash.update(`${file}\0${content.length}\0`).update(content);
    }
  }
  return hash.digest("hex").slice(0, 16);
}

async function filesOf(root: string, name: string): Promise<string[]> {
  const entries = await readdir(path.join(root, name), { withFileTypes: true, recursive: true }).catch(() => undefined);
  // Not a folder.
  if (entries === undefined) return [name];
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => path.relative(root, path.join(entry.parentPath, entry.name))).sort();
}
