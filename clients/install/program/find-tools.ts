import { accessSync, constants, statSync } from "node:fs";
import path from "node:path";
import type { Context } from "./context.ts";
import type { InstallableTool } from "./served.ts";

/** A tool is installed if one of its commands is on the PATH or one of its settings folders exists. */
export function findTools(context: Context): InstallableTool[] {
  return context.served.tools.filter(
    ({ commands, folders }) =>
      commands.some((name) => findCommand(name, context) !== undefined) ||
      folders.some((name) => isFolder(path.join(context.home, name))),
  );
}

export function findCommand(
  name: string,
  { environment, platform }: Pick<Context, "environment" | "platform">,
): string | undefined {
  const folders = (environment["PATH"] ?? "").split(path.delimiter).filter((folder) => folder !== "");
  const endings = platform === "win32" ? (environment["PATHEXT"] ?? ".EXE;.CMD").split(";") : [""];
  return folders.flatMap((folder) => endings.map((ending) => path.join(folder, name + ending))).find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function isFolder(folder: string): boolean {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
}
