import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { isYes } from "./choose.ts";
import type { Context } from "./context.ts";
import { COMMENT } from "./edit/profile.ts";
import { modeOf, readSettings } from "./files.ts";
import type { Options } from "./options.ts";
import { reasonOf, writeRecorded } from "./set-up.ts";
import type { ChangeRecord } from "./record.ts";
import type { Terminal } from "./terminal.ts";

const PROFILES = [
  ".profile",
  ".bash_profile",
  ".bash_login",
  ".bashrc",
  ".zshenv",
  ".zprofile",
  ".zshrc",
  ".kshrc",
  ".config/fish/config.fish",
];

interface Assignment {
  /** Counted from 1. */
  line: number;
  name: string;
  /** The line does nothing else. */
  isWhole: boolean;
}

export interface Clearing {
  context: Context;
  options: Options;
  record: ChangeRecord;
  /** Variables of other providers, which may override the setup. */
  names: readonly string[];
  terminal: Terminal | undefined;
}

/** Reports variables of other providers, and comments out their lines if the user agrees. Returns the failures. */
export async function clearVariables(clearing: Clearing): Promise<number> {
  const { context, names } = clearing;
  for (const name of names.filter((each) => context.environment[each] !== undefined)) {
    const remedy =
      context.platform === "win32"
        ? `Remove-Item Env:${name}; [Environment]::SetEnvironmentVariable('${name}', $null, 'User')`
        : `unset ${name}`;
    context.warn(`  The variable ${name} is set in this shell, and may override the setup. Clear it: ${remedy}`);
  }
  let failures = 0;
  for (const file of PROFILES.map((name) => path.join(context.home, name)).filter((each) => existsSync(each)))
    failures += await clearProfile(file, clearing);
  return failures;
}

async function clearProfile(file: string, { context, options, record, names, terminal }: Clearing): Promise<number> {
  const lines = readFileSync(file, "latin1").split("\n");
  const assignments = findAssignments(lines, names);
  for (const { line, name, isWhole } of assignments) {
    context.warn(`  ${file}, line ${line} sets ${name}, which may override the setup.`);
    if (!isWhole) context.warn("    That line also does something else: change it by hand.");
  }
  const whole = new Set(assignments.filter(({ isWhole }) => isWhole).map(({ line }) => line));
  if (whole.size === 0 || options.isDryRun) return 0;
  if (!options.clearsVariables) {
    if (options.isYes || options.tools !== "" || terminal === undefined) {
      context.warn("    Clear it yourself, or run this again with --clear-variables.");
      return 0;
    }
    if (!isYes(await terminal.ask("  Turn it into a comment? [Y/n] "))) return 0;
  }
  try {
    readSettings(file);
    const text = lines.map((line, index) => (whole.has(index + 1) ? COMMENT + line : line)).join("\n");
    writeRecorded(record, { file, format: "profile", bytes: Buffer.from(text, "latin1"), mode: modeOf(file), operations: [] });
    context.print(`  ${file}: turned into a comment. New shells no longer set it.`);
    return 0;
  } catch (error) {
    context.warn(`    ${file} was not changed. ${reasonOf(error)}`);
    return 1;
  }
}

/** A value that is one word, without anything that the shell would run. */
const VALUE = String.raw`("[^"]*"|'[^']*'|[^ \t;&|"'()]*)`;
const FISH = String.raw`\s*set\s+(-[A-Za-z]+\s+|--[a-z]+\s+)*`;

function findAssignments(lines: readonly string[], names: readonly string[]): Assignment[] {
  const patterns = names.map((name) => ({
    name,
    anywhere: new RegExp(String.raw`(^|[ \t;&])${name}=|^${FISH}${name}\s`),
    whole: new RegExp(
      String.raw`^\s*(export\s+|declare\s+-x\s+|typeset\s+-x\s+)?${name}=${VALUE}\s*(#.*)?$|^${FISH}${name}\s+${VALUE}\s*$`,
    ),
  }));
  return lines.flatMap((text, index) =>
    /^\s*#/.test(text)
      ? []
      : patterns
          .filter(({ anywhere }) => anywhere.test(text))
          .map(({ name, whole }) => ({ line: index + 1, name, isWhole: whole.test(text) })),
  );
}
