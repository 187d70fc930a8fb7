import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { expect, onTestFinished } from "vitest";
import { eventually } from "../eventually.ts";

/**
 * Kills a Node process of the stack and starts the same program with the same environment again, as a supervisor would.
 * The new one ends with the test.
 * @param readyUrl answers 200 when it is ready.
 */
export async function killAndRestart(pid: number, readyUrl: string): Promise<number> {
  const parameters = (await read(pid, "cmdline")).slice(1);
  const environment = Object.fromEntries((await read(pid, "environ")).map((each) => splitOnce(each)));
  process.kill(pid, "SIGKILL");
  await eventually(() => expect(isThere(pid)).toBe(false));
  // Without the channel to the stack that the first one had.
  const { NODE_CHANNEL_FD: _, NODE_CHANNEL_SERIALIZATION_MODE: __, ...rest } = environment;
  const child = spawn(process.execPath, parameters, { env: rest, stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  await eventually(async () => expect((await fetch(readyUrl)).status).toBe(200), { withinMs: 30_000 });
  return child.pid ?? 0;
}

async function read(pid: number, file: "cmdline" | "environ"): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/${file}`, "utf8");
  return text.split("\0").filter((each) => each !== "");
}

function splitOnce(text: string): [string, string] {
  const at = text.indexOf("=");
  return [text.slice(0, at), text.slice(at + 1)];
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
