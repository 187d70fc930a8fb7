import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { takeLock } from "../../../../local/process/lock.ts";

let directory: string;
let file: string;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "gateway-lock-"));
  file = path.join(directory, "lock");
});
afterEach(() => rm(directory, { recursive: true }));

test("a second start reports that the first one uses the directory", async () => {
  const lock = await takeLock(file);
  await expect(takeLock(file)).rejects.toThrow(`Another start (process ${process.pid}) uses this data directory`);
  await lock.release();
  await (await takeLock(file)).release();
  expect(await readdir(directory)).toStrictEqual([]);
});

test("the lock of an ended process is taken over", async () => {
  await writeFile(file, JSON.stringify({ pid: process.pid, mark: "of another process with the same id" }));
  await expect(takeLock(file)).resolves.toBeDefined();
});

test("an unreadable lock is taken over", async () => {
  await writeFile(file, "{");
  await expect(takeLock(file)).resolves.toBeDefined();
});

test("of many concurrent starts that find a dead lock, one gets it", async () => {
  for (let round = 0; round < 20; round++) {
    await writeFile(file, JSON.stringify({ pid: 1, mark: "none" }));
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => takeLock(file)));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  }
});

test("a deleted lock is taken again", async () => {
  const lock = await takeLock(file);
  await rm(file);
  expect(await lock.keep()).toBe(true);
  await expect(takeLock(file)).rejects.toThrow("uses this data directory");
  await lock.release();
  expect(await readdir(directory)).toStrictEqual([]);
});

test("a lock does not outlive its directory, and leaves that of another process in the next one alone", async () => {
  const lock = await takeLock(file);
  await rename(directory, `${directory}-before`);
  expect(await lock.keep()).toBe(false);
  await mkdir(directory);
  expect(await lock.keep()).toBe(false);
  await writeFile(file, "another's");
  expect(await lock.keep()).toBe(false);
  await lock.release();
  expect(await readFile(file, "utf8")).toBe("another's");
  await rm(`${directory}-before`, { recursive: true });
});
