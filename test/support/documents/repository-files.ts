import { glob } from "node:fs/promises";
import path from "node:path";

export const REPOSITORY = path.join(import.meta.dirname, "../../..");

/** Folders that hold what was installed, generated or left by a run. */
const NOT_OURS = new Set(["node_modules", "gen", ".data", "coverage", ".git"]);

/** Paths of the repository's files that match, relative to it, in order. */
export async function repositoryFiles(...patterns: readonly string[]): Promise<string[]> {
  const files = await Array.fromAsync(glob(patterns, { cwd: REPOSITORY, exclude: (name) => NOT_OURS.has(path.basename(name)) }));
  return files.map((file) => file.split(path.sep).join("/")).toSorted();
}
