import { readFileSync } from "node:fs";
import path from "node:path";
import type { InstallableTool, Served } from "./install/program/served.ts";
import type { OfferedModel } from "./models.ts";
import { SERVED_TOOLS } from "./table.ts";
import type { ServedTool } from "./tool.ts";

export interface InstallerInput {
  /** Without `/v1` and without a trailing slash. */
  baseUrl: string;
  models: readonly OfferedModel[];
}

const FOLDER = path.join(import.meta.dirname, "install");

/** Contains no character that would end a shell's quotes. */
const PLAIN_URL = /^https?:\/\/[A-Za-z0-9.\-:[\]]+(?:\/[A-Za-z0-9._~/-]*)?$/;

/** A short script for sh that runs the program with Node.js. */
export function renderShellInstaller(input: InstallerInput): string {
  return render("install.sh", input);
}

/** The same for PowerShell. */
export function renderPowerShellInstaller(input: InstallerInput): string {
  return render("install.ps1", input);
}

function render(name: string, { baseUrl, models }: InstallerInput): string {
  const served: Served = { baseUrl: checkedUrl(baseUrl), tools: SERVED_TOOLS.map(installable), models };
  const parts: Readonly<Record<string, string>> = {
    BASE_URL: served.baseUrl,
    DATA: `const MODEL_GATEWAY = ${JSON.stringify(served)};`,
    PROGRAM: read("program.js").trimEnd(),
  };
  return read(name).replaceAll(/@([A-Z_]+)@/g, (whole, part: string) => parts[part] ?? whole);
}

/** The parts of a tool's description that the program needs. */
function installable({ id, name, interfaces, commands, folders, files, clear, afterwards }: ServedTool): InstallableTool {
  return { id, name, interfaces, commands, folders, files, clear, afterwards };
}

function read(name: string): string {
  return readFileSync(path.join(FOLDER, name), "utf8");
}

/** @throws Error if the address would end a shell's quotes. */
export function checkedUrl(baseUrl: string): string {
  if (PLAIN_URL.test(baseUrl)) return baseUrl;
  throw new Error(
    `PUBLIC_BASE_URL is ${baseUrl}: it must be an http or https address without user, query and special characters.`,
  );
}
