import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import type { FolderFile } from "./folder-content.ts";

/** The YAML files of a folder, as text. */
export async function readFolderFiles(folder: string): Promise<{ files: FolderFile[] }> {
  const names = (await readdir(folder)).filter((name) => /^[^.].*\.ya?ml$/.test(name));
  const files = await Promise.all(names.map((name) => readOne(folder, name)));
  return { files: files.filter((file) => file !== null) };
}

async function readOne(folder: string, name: string): Promise<FolderFile | null> {
  const file = path.join(folder, name);
  try {
    const { birthtimeMs } = await stat(file);
    return { name, text: await readFile(file, "utf8"), createdSeconds: Math.floor(birthtimeMs / 1000) };
  } catch (error) {
    // Removed between the listing and the reading.
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}
