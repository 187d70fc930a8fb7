import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { FOLDERS, PROGRAMS, ROOT } from "../../../bundle/programs.ts";

/** Finds the bundles of the checkout in which it is, and runs one. */
const RUN = `
  import { findBundles } from "./bundle/find.ts";
  const programs = await findBundles();
  console.log(programs("local/start.ts"));
  await import(programs("local/start.ts"));
`;

/** A checkout whose programs do nothing but say where they look for their files, with the packages of this one. */
async function checkOut(directory: string): Promise<void> {
  await cp(path.join(ROOT, "bundle"), path.join(directory, "bundle"), { recursive: true });
  for (const folder of FOLDERS) await mkdir(path.join(directory, folder), { recursive: true });
  for (const program of PROGRAMS) {
    await mkdir(path.dirname(path.join(directory, program)), { recursive: true });
    await writeFile(path.join(directory, program), "console.log(import.meta.dirname);");
  }
  await writeFile(path.join(directory, "package.json"), '{ "type": "module" }');
  await writeFile(path.join(directory, "run.ts"), RUN);
  await symlink(path.join(ROOT, "node_modules"), path.join(directory, "node_modules"));
}

test("checkouts that link to the same packages run their own files", async () => {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), "checkouts-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const name of ["one", "other"]) {
    const directory = path.join(folder, name);
    await checkOut(directory);
    const { stdout } = await promisify(execFile)(process.execPath, [path.join(directory, "run.ts")]);
    const [bundle = "", location = ""] = stdout.trim().split("\n");
    onTestFinished(() => rm(path.dirname(bundle), { recursive: true, force: true }));
    expect(path.resolve(location)).toBe(path.join(directory, "local"));
  }
});
