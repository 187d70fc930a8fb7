import path from "node:path";

export const ROOT = path.join(import.meta.dirname, "..");

/** The files in which the product's programs begin. */
export const PROGRAMS = [
  "dashboard/main.ts",
  "extproc/drain-command/main.ts",
  "extproc/main.ts",
  "ledger/account-command/main.ts",
  "ledger/admin-command/main.ts",
  "ledger/check-command/main.ts",
  "ledger/migrate-command/main.ts",
  "local/simulator/main.ts",
  "local/start.ts",
  "operator/main.ts",
] as const;

/** Where they and all that they import are. */
export const FOLDERS = ["clients", "contract", "dashboard", "extproc", "ledger", "local", "operator", "runtime"];

export type Program = (typeof PROGRAMS)[number];

/** The file with which Node.js runs a program. */
export type Programs = (program: Program) => string;

export const SOURCES: Programs = (program) => path.join(ROOT, program);

export function bundlesIn(directory: string): Programs {
  return (program) => path.join(directory, `${bundleName(program)}.mjs`);
}

/** `extproc` for extproc/main.ts, `local-start` for local/start.ts. */
export function bundleName(program: Program): string {
  return program.replace(/(\/main)?\.ts$/, "").replaceAll("/", "-");
}
