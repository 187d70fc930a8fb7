import { existsSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import type { Context } from "./context.ts";
import { encodingOf } from "./encoding.ts";
import { replaceFile, sumOf } from "./files.ts";
import type { Entry, ChangeRecord } from "./record.ts";
import { Stopped } from "./refused.ts";
import { filesOf, reasonOf } from "./set-up.ts";

/** Restores every file. @throws Stopped if one could not be restored. */
export function uninstall(context: Context, record: ChangeRecord, { isDryRun }: { isDryRun: boolean }): void {
  const { entries, folders } = record.read();
  if (entries.length === 0) {
    context.print(`There is nothing to undo: ${context.state} has no record of changes.`);
    return;
  }
  const failed = [...entries].reverse().filter((entry) => !restore(entry, { context, record, isDryRun }));
  if (failed.length > 0) throw new Stopped(`${filesOf(failed.length)} could not be restored: ${context.state} is kept.`);
  if (isDryRun) return;
  rmSync(context.state, { recursive: true, force: true });
  for (const folder of [...folders].reverse()) removeEmpty(folder);
  context.print("Done: everything was restored.");
}

function restore(
  entry: Entry,
  { context, record, isDryRun }: { context: Context; record: ChangeRecord; isDryRun: boolean },
): boolean {
  const { file } = entry;
  if (!existsSync(file)) {
    context.print(`  ${file} is already gone.`);
    return true;
  }
  if (isDryRun) {
    context.print(`  would restore ${file}`);
    return true;
  }
  try {
    if (sumOf(file) === entry.sum) putBack(entry, { context, record });
    else takeOut(entry, { context, record });
    return true;
  } catch (error) {
    const copy = entry.mode === undefined ? "" : ` Its copy from before: ${record.copyOf(entry)}`;
    context.warn(`  ${file} was not changed. ${reasonOf(error)}${copy}`);
    return false;
  }
}

function putBack(entry: Entry, { context, record }: { context: Context; record: ChangeRecord }): void {
  if (entry.mode === undefined) {
    rmSync(entry.file);
    context.print(`  removed ${entry.file}`);
    return;
  }
  replaceFile(entry.file, readFileSync(record.copyOf(entry)), entry.mode);
  context.print(`  restored ${entry.file}`);
}

/** The file has changed since: only the installer's settings are removed. */
function takeOut(entry: Entry, { context, record }: { context: Context; record: ChangeRecord }): void {
  const text = record.reverted(entry);
  if (entry.mode === undefined && ["", "{}"].includes(text.replaceAll(/\s/g, ""))) {
    rmSync(entry.file);
    context.print(`  removed ${entry.file}`);
    return;
  }
  replaceFile(entry.file, Buffer.from(text, encodingOf(entry.format)), entry.mode ?? 0o600);
  context.print(`  removed the gateway's settings from ${entry.file}, which has changed since`);
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It contains files that the installer did not write.
  }
}
