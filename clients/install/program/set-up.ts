import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { operationsOf, type Operation } from "../../operations.ts";
import { chooseInterface, chooseModel, type Choice } from "./choose.ts";
import type { Context } from "./context.ts";
import type { Format } from "./edit/editor.ts";
import { editorOf } from "./edit/editors.ts";
import { decodeAs, encodingOf } from "./encoding.ts";
import { makeFolders, protect, readSettings, replaceFile } from "./files.ts";
import type { Options } from "./options.ts";
import { inPowerShell } from "./powershell.ts";
import type { ChangeRecord } from "./record.ts";
import { Refused } from "./refused.ts";
import { settingsPath } from "./settings-path.ts";

export interface SetUp {
  context: Context;
  options: Options;
  record: ChangeRecord;
  /** Empty in a dry run. */
  key: string;
  /** The models that the key may use; undefined in a dry run. */
  usable: ReadonlySet<string> | undefined;
}

/** Writes one tool's settings. Returns how many files it could not write; "skipped" if it has no model for the tool. */
export function setUpTool(choice: Choice, setUp: SetUp): number | "skipped" {
  const { context, options, usable } = setUp;
  const { tool } = choice;
  const speaks = chooseInterface(choice, options);
  let chosen;
  try {
    chosen = chooseModel(choice, { context, options, speaks, usable });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    context.warn(error.message);
    return "skipped";
  }
  context.print(`${tool.name}: ${speaks} interface, model ${chosen.model.name}`);
  const filling = { baseUrl: context.served.baseUrl, key: "@key@", ...chosen };
  const failures = tool.files
    .filter((file) => file.interface === speaks)
    .filter((file) => {
      const operations = operationsOf(file, filling);
      const isPowerShell = file.format === "env" && context.platform === "win32";
      return !setUpFile(setUp, {
        file: settingsPath(file, context),
        format: file.format,
        operations: isPowerShell ? operations.map(inPowerShell) : operations,
      });
    });
  for (const sentence of tool.afterwards)
    context.print(`  ${context.platform === "win32" ? sentence.replace(".sh", ".ps1") : sentence}`);
  return failures.length;
}

interface Target {
  file: string;
  format: Format;
  operations: readonly Operation[];
}

function setUpFile({ context, options, record, key }: SetUp, target: Target): boolean {
  const { file, format, operations } = target;
  try {
    const old = readSettings(file);
    const text = editorOf(format).apply(old === undefined ? "" : decodeAs(format, old), operations, key);
    if (options.isDryRun) {
      context.print(`  would write ${file}:`);
      for (const line of byHand(target)) context.print(line);
      return true;
    }
    const bytes = Buffer.from(text, encodingOf(format));
    if (old?.equals(bytes) === true) {
      protect(file, 0o600);
      context.print(`  ${file} is up to date.`);
      return true;
    }
    writeRecorded(record, { file, format, bytes, mode: 0o600, operations });
    context.print(`  wrote ${file}`);
    return true;
  } catch (error) {
    context.warn(
      `  ${file} ${options.isDryRun ? "cannot be" : "was not"} changed. ${reasonOf(error)} Add these settings by hand:`,
    );
    for (const line of byHand(target)) context.warn(line);
    return false;
  }
}

/** Keeps a copy, writes the file, and records what was written. */
export function writeRecorded(
  record: ChangeRecord,
  { file, format, bytes, mode, operations }: Target & { bytes: Buffer; mode: number },
): void {
  const entry = record.remember(file, format, makeFolders(path.dirname(file)));
  replaceFile(file, bytes, mode);
  if (!existsSync(file) || !readFileSync(file).equals(bytes)) throw new Refused("Its content differs from what was written.");
  record.written(entry, operations);
}

export function reasonOf(error: unknown): string {
  if (error instanceof Refused) return error.message;
  return `It cannot be written (${error instanceof Error ? error.message : String(error)}).`;
}

export function filesOf(count: number): string {
  return counted(count, "file");
}

export function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

function byHand({ format, operations }: Target): string[] {
  const isJson = format === "json" || format === "jsonc";
  return operations
    .flatMap(({ path: names, value }) => (isJson ? [`${names.join(" › ")} = ${value}`] : value.split("\n")))
    .map((line) => `      ${line.replaceAll("@key@", "<your key>")}`);
}
