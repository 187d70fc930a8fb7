import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import * as z from "zod";

const ROOT = path.join(import.meta.dirname, "../../..");
const MAX_BYTES = 350 * 1024 * 1024;
/** A file takes whole blocks of a disk. */
const BLOCK_BYTES = 4096;

const lockSchema = z.object({
  packages: z.record(z.string(), z.object({ dev: z.boolean().optional(), libc: z.array(z.string()).optional() })),
});

const reportSchema = z.object({ header: z.object({ glibcVersionRuntime: z.string().optional() }) });

/** The C library of this machine, as packages name it. */
function ownLibc(): string {
  const { header } = reportSchema.parse(process.report.getReport());
  return header.glibcVersionRuntime === undefined ? "musl" : "glibc";
}

/** What `npm ci --omit=dev` leaves of the packages that are installed here: a folder each. */
async function productionPackages(): Promise<string[]> {
  const { packages } = lockSchema.parse(JSON.parse(await readFile(path.join(ROOT, "package-lock.json"), "utf8")));
  const own = ownLibc();
  return (
    Object.entries(packages)
      // npm 9 also installs packages for another C library, which nothing here loads.
      .filter(([folder, { dev, libc = [own] }]) => folder !== "" && dev !== true && libc.includes(own))
      .map(([folder]) => path.join(ROOT, folder))
      .filter((directory) => existsSync(directory))
  );
}

/** Packages inside it count by themselves. */
async function bytesIn(directory: string): Promise<number> {
  const entries = await readdir(directory, { withFileTypes: true });
  const sizes = await Promise.all(
    entries.map(async (entry) => {
      const file = path.join(directory, entry.name);
      if (entry.isDirectory()) return entry.name === "node_modules" ? 0 : await bytesIn(file);
      return entry.isFile() ? Math.ceil((await stat(file)).size / BLOCK_BYTES) * BLOCK_BYTES : 0;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

test("the packages needed to run the gateway, and not to develop it, take at most 350 MB", async () => {
  const sizes = await Promise.all(
    (await productionPackages()).map(async (directory) => [directory, await bytesIn(directory)] as const),
  );
  expect(sizes.length).toBeGreaterThan(100);
  const sum = sizes.reduce((total, [, size]) => total + size, 0);
  const largest = sizes.toSorted(([, a], [, b]) => b - a).slice(0, 5);
  expect(sum, largest.map(([directory, size]) => `${path.relative(ROOT, directory)}: ${size}`).join(", ")).toBeLessThan(
    MAX_BYTES,
  );
});
