import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isAlive } from "../../../../local/process/processes.ts";
import { createRegister, stopLeftovers } from "../../../../local/process/register.ts";

let directory: string;
let file: string;
let sleeper: ChildProcess;
let pid: number;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "gateway-register-"));
  file = path.join(directory, "processes.json");
  sleeper = spawn("sleep", ["60"], { detached: true, stdio: "ignore" });
  await once(sleeper, "spawn");
  pid = sleeper.pid ?? 0;
});
afterEach(async () => {
  sleeper.kill("SIGKILL");
  await rm(directory, { recursive: true });
});

test("processes left running by a killed stack are stopped", async () => {
  await createRegister(file).add("envoy", pid);
  const found: string[] = [];
  await stopLeftovers(file, (name) => found.push(name));
  expect(found).toStrictEqual(["envoy"]);
  expect(await isAlive(pid)).toBe(false);
});

test("a process that only got the same id is left alone", async () => {
  await writeFile(file, JSON.stringify([{ name: "envoy", pid, mark: "1" }]));
  await stopLeftovers(file, () => expect.unreachable());
  expect(await isAlive(pid)).toBe(true);
});

test("after a clean exit nothing is recorded", async () => {
  const register = createRegister(file);
  await register.add("envoy", pid);
  await register.clear();
  await stopLeftovers(file, () => expect.unreachable());
  expect(await isAlive(pid)).toBe(true);
});

test("a truncated record is not a reason to fail", async () => {
  await writeFile(file, '[{"name":"env');
  await expect(stopLeftovers(file, () => expect.unreachable())).resolves.toBeUndefined();
});

test("our own process is alive, and an unused id is not", async () => {
  expect(await isAlive(process.pid)).toBe(true);
  expect(await isAlive(2 ** 22 + 1)).toBe(false);
});
