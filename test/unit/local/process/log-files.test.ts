import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openLineLog } from "../../../../local/process/line-log.ts";
import { watchLog } from "../../../../local/process/log-file.ts";
import { startLogRotation } from "../../../../local/process/log-rotation.ts";

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "gateway-logs-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function rotate(folder: string, maxBytes: number): void {
  const rotation = startLogRotation(folder, { maxBytes, everyMs: 20 });
  onTestFinished(() => rotation.stop());
}

/** A child that goes on writing lines with numbers, as the parts of a stack do: into a file opened for appending. */
function startWriter(file: string): void {
  const descriptor = openSync(file, "a");
  const writer = spawn("sh", ["-c", "i=0; while :; do i=$((i + 1)); echo line $i; done"], {
    stdio: ["ignore", descriptor, "ignore"],
  });
  closeSync(descriptor);
  onTestFinished(() => void writer.kill("SIGKILL"));
}

test("a growing log is bounded, its earlier content stays in a file next to it, and its writer continues", async () => {
  const folder = await makeFolder();
  const file = path.join(folder, "part.log");
  startWriter(file);
  rotate(folder, 20_000);
  const before = path.join(folder, "part.1.log");
  await expect
    .poll(async () => (await stat(before).catch(() => undefined))?.size ?? 0, { timeout: 5_000 })
    .toBeGreaterThan(20_000);
  const [earlier] = (await readFile(before, "utf8")).split("\n");
  // More than one rotation later.
  await expect.poll(async () => (await readFile(before, "utf8")).split("\n").at(0), { timeout: 5_000 }).not.toBe(earlier);
  await expect.poll(async () => (await stat(file)).size, { timeout: 5_000 }).toBeLessThan(20_000);
  expect((await readdir(folder)).toSorted()).toEqual(["part.1.log", "part.log"]);
});

test("a log below the bound is left alone, and so is the previous run's", async () => {
  const folder = await makeFolder();
  await writeFile(path.join(folder, "small.log"), "a line\n");
  await writeFile(path.join(folder, "large.1.log"), Buffer.alloc(2_000));
  await writeFile(path.join(folder, "large.log"), Buffer.alloc(2_000));
  rotate(folder, 1_000);
  await expect.poll(async () => (await stat(path.join(folder, "large.log"))).size).toBe(0);
  expect(await readFile(path.join(folder, "small.log"), "utf8")).toBe("a line\n");
  expect((await stat(path.join(folder, "large.1.log"))).size).toBe(2_000);
});

test("if the copy cannot be written the log starts again anyway: room comes first", async () => {
  const folder = await makeFolder();
  await writeFile(path.join(folder, "part.log"), Buffer.alloc(2_000));
  await mkdir(path.join(folder, "part.1.log"));
  rotate(folder, 1_000);
  await expect.poll(async () => (await stat(path.join(folder, "part.log"))).size).toBe(0);
});

test("a follower of a log sees what comes after it was rotated", async () => {
  const folder = await makeFolder();
  const file = path.join(folder, "part.log");
  await writeFile(file, `${"x".repeat(2_000)}\nfind this\n`);
  const found: string[] = [];
  const watch = watchLog({ file, fromByte: 0 }, ["find"], (line) => found.push(line));
  onTestFinished(() => watch.stop());
  await expect.poll(() => found).toEqual(["find this"]);
  rotate(folder, 1_000);
  await expect.poll(async () => (await stat(file)).size).toBe(0);
  await writeFile(file, "find that\n", { flag: "a" });
  await expect.poll(() => found).toEqual(["find this", "find that"]);
});

test("a full disk costs only lines of the log", () => {
  const log = openLineLog("/dev/full");
  for (let index = 0; index < 1_000; index++) log.write(`line ${index}\n`);
  log.end();
});
