import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openDataDirectory } from "../../../local/data-directory.ts";

test("a data directory that cannot be created is reported in one sentence", async () => {
  const directory = await mkdtemp(path.join(tmpdir(), "gateway-data-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = path.join(directory, "file");
  await writeFile(file, "");
  await expect(openDataDirectory(file)).rejects.toThrow(
    `The data directory ${file} cannot be created (ENOTDIR): choose another one with --data.`,
  );
});

test("logs and journals are only for their owner, even in an earlier version's directory", async () => {
  const directory = await mkdtemp(path.join(tmpdir(), "gateway-data-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  await mkdir(path.join(directory, "logs"), { mode: 0o755 });
  const { logs, journal } = await openDataDirectory(directory);
  for (const closed of [logs, journal]) expect((await stat(closed)).mode & 0o777).toBe(0o700);
});
