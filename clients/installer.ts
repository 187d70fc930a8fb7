import { readFileSync } from "node:fs";
import path from "node:path";
import { ASSUMED_CONTEXT, type OfferedModel } from "./models.ts";
import { SERVED_TOOLS } from "./table.ts";
import type { ServedTool, Setting } from "./tool.ts";

export interface InstallerInput {
  /** Without `/v1` and without a slash at the end. */
  baseUrl: string;
  models: readonly OfferedModel[];
}

const FOLDER = path.join(import.meta.dirname, "install");

/** Of what stands between the quotes of a shell, nothing ends them. */
const PLAIN_URL = /^https?:\/\/[A-Za-z0-9.\-:[\]]+(?:\/[A-Za-z0-9._~/-]*)?$/;
/** The shell program, with the tools' and models' data in it. */
export function renderShellInstaller({ baseUrl, models }: InstallerInput): string {
  return knit("install.sh", {
    BASE_URL: checkedUrl(baseUrl),
    DATA: dataLines(models).join("\n"),
    JSON_AWK: source("json.awk"),
    LINES_AWK: source("lines.awk"),
  });
}

/** The same for Windows' PowerShell. */
export function renderPowerShellInstaller({ baseUrl, models }: InstallerInput): string {
  return knit("install.ps1", { BASE_URL: checkedUrl(baseUrl), DATA: dataLines(models).join("\n") });
}

function knit(name: string, parts: Readonly<Record<string, string>>): string {
  return source(name).replaceAll(/@([A-Z_]+)@/g, (whole, part: string) => parts[part] ?? whole);
}

function source(name: string): string {
  return readFileSync(path.join(FOLDER, name), "utf8").trimEnd() + (name.endsWith(".awk") ? "" : "\n");
}

/** @throws Error where the address would not be itself between quotes. */
export function checkedUrl(baseUrl: string): string {
  if (PLAIN_URL.test(baseUrl)) return baseUrl;
  throw new Error(
    `PUBLIC_BASE_URL is ${baseUrl}: it must be an http or https address without user, query and special characters.`,
  );
}

/** Lines of fields between tabs, as install.sh reads them. */
function dataLines(models: readonly OfferedModel[]): string[] {
  return [...SERVED_TOOLS.flatMap(toolLines), ...modelLines(models)];
}

function toolLines(tool: ServedTool): string[] {
  const lists = [tool.interfaces, tool.commands, tool.folders].map((list) => (list.length === 0 ? "-" : list.join(",")));
  return [
    line("tool", tool.id, tool.name, ...lists),
    ...tool.interfaces.flatMap((speaks) =>
      tool.files
        .filter((file) => file.interface === speaks)
        .flatMap((file, index) => {
          const number = String(index + 1);
          const place = [file.folderVariable ?? "-", file.folder, file.names.join(",")];
          return [
            line("file", tool.id, speaks, number, file.format, ...place),
            ...file.settings.map((each) => line("set", tool.id, speaks, number, each.kind, pathText(each), valueText(each))),
          ];
        }),
    ),
    ...tool.clear.map((name) => line("clear", tool.id, name)),
    ...tool.afterwards.map((sentence) => line("say", tool.id, "-", sentence)),
  ];
}

function modelLines(models: readonly OfferedModel[]): string[] {
  return models.map(({ name, interfaces, contextWindow, maxOutputTokens, isSmall }) => {
    const limits = [String(contextWindow ?? ASSUMED_CONTEXT), String(maxOutputTokens)];
    return line("model", name, interfaces.join(","), ...limits, isSmall ? "small" : "-");
  });
}

function pathText({ path: names }: Setting): string {
  return names.length === 1 ? (names[0] ?? "") : names.map((name) => name.replaceAll("/", "~1")).join("/");
}

function valueText({ value }: Setting): string {
  return value.replaceAll("\n", String.raw`\n`);
}

function line(...fields: readonly string[]): string {
  return fields.join("\t");
}
