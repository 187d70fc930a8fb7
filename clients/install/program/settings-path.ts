import { existsSync } from "node:fs";
import path from "node:path";
import type { SettingsFile } from "../../tool.ts";
import type { Context } from "./context.ts";

/** Of several names that the tool reads, the first that exists, otherwise the last. */
export function settingsPath(
  { folder, folderVariable, names, format }: SettingsFile,
  { environment, home, platform }: Context,
): string {
  const moved = folderVariable === null ? undefined : environment[folderVariable];
  const directory = moved !== undefined && path.isAbsolute(moved) ? moved : path.join(home, folder);
  const files = names.map((name) => path.join(directory, name));
  const file = files.find((each) => existsSync(each)) ?? files.at(-1) ?? directory;
  return format === "env" && platform === "win32" ? file.replace(/\.sh$/, ".ps1") : file;
}
