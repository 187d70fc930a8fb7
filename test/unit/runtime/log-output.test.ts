import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { createLogOutput, type LogOutputOptions } from "../../../runtime/log-output.ts";

const describeDropped = (lines: number) => `dropped ${lines}\n`;
const GATHERING = { gatherBytes: 8_192, pageBytes: 16_384 };
const AT_ONCE = { gatherBytes: 0, pageBytes: 4_096 };

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "gateway-log-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function openOutput(file: string, flags: number | string, options: Partial<LogOutputOptions>) {
  const descriptor = openSync(file, flags);
  onTestFinished(() => closeSync(descriptor));
  return createLogOutput({ descriptor, ...GATHERING, describeDropped, ...options });
}

/** A pipe that holds 64 KiB until somebody reads. */
async function openPipe(options: Partial<LogOutputOptions>) {
  const file = path.join(await makeFolder(), "pipe");
  execFileSync("mkfifo", [file]);
  const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(reader));
  const output = openOutput(file, constants.O_WRONLY | constants.O_NONBLOCK, options);
  const buffer = Buffer.alloc(2 ** 20);
  let text = "";
  const read = () => {
    try {
      for (let count = 1; count > 0;) text += buffer.toString("latin1", 0, (count = readSync(reader, buffer)));
    } catch {
      // Nothing there for now.
    }
    return text;
  };
  return { output, read };
}

const line = (index: number) => `line ${index} ${"x".repeat(90)}\n`;

test.for([
  ["gathered", GATHERING],
  ["written at once", AT_ONCE],
] as const)("lines that are %s arrive complete and in order", async ([, mode]) => {
  const file = path.join(await makeFolder(), "log");
  const output = openOutput(file, "a", mode);
  const lines = Array.from({ length: 2_000 }, (_, index) => line(index));
  for (const each of lines) output.write(each);
  output.flush();
  await expect.poll(() => readFile(file, "utf8")).toBe(lines.join(""));
  expect(output.dropped).toBe(0);
});

test("lines written synchronously have arrived when the call returns", async () => {
  const file = path.join(await makeFolder(), "log");
  const output = openOutput(file, "a", AT_ONCE);
  output.write("one\n");
  expect(await readFile(file, "utf8")).toBe("one\n");
});

test.for([
  ["gathered", GATHERING],
  ["written at once", AT_ONCE],
] as const)("on a full disk lines that are %s wait up to the bound, then they are dropped and counted", async ([, mode]) => {
  const output = openOutput("/dev/full", "a", { ...mode, maxBytes: 10_000 });
  for (let index = 0; index < 1_000; index++) output.write("123456789\n");
  output.flush();
  output.write("123456789\n");
  expect(output.dropped).toBe(1);
  output.finish();
});

test.for([
  ["gathered", GATHERING],
  ["written at once", AT_ONCE],
] as const)(
  "when the device accepts lines again, waiting ones are written, and one line reports the dropped ones: %s",
  async ([, mode]) => {
    const { output, read } = await openPipe({ ...mode, maxBytes: 20_000 });
    for (let index = 0; index < 2_000; index++) {
      output.write(line(index));
      if (index % 50 === 0) await new Promise((resolve) => void setImmediate(resolve));
    }
    expect(output.dropped).toBeGreaterThan(500);
    // As a log does every so often: less than what is gathered would wait for more.
    const flushing = setInterval(() => output.flush(), 50);
    onTestFinished(() => clearInterval(flushing));
    const reportedDrops = () => [...read().matchAll(/^dropped (\d+)$/gm)].reduce((sum, [, lines]) => sum + Number(lines), 0);
    await expect.poll(reportedDrops).toBe(output.dropped);
    output.write("afterwards\n");
    output.flush();
    await expect.poll(read).toContain("afterwards\n");
    const arrived = [...read().matchAll(/^line (\d+) x{90}$/gm)].map(([, index]) => Number(index));
    expect(arrived).toHaveLength(2_000 - output.dropped);
    expect(arrived).toEqual(arrived.toSorted((one, other) => one - other));
  },
);

const LOG = new URL("../../../runtime/log.ts", import.meta.url).href;

/** A process that writes so many lines into each kind of log, and ends. */
async function runProgram(stdout: number | "pipe", lines: number) {
  const program = `
    import { createCountedLog, createGatheringLog } from "${LOG}";
    const gathering = createGatheringLog({ process: "gathering", level: "info" });
    const atOnce = createCountedLog({ process: "at once", level: "info" });
    for (let index = 1; index <= ${lines}; index++) {
      gathering.log.info({ index }, "a line of some length, as they are");
      atOnce.log.info({ index }, "a line of some length, as they are");
    }
    setTimeout(() => {
      process.stderr.write(JSON.stringify([gathering.droppedLines() > 0, atOnce.droppedLines() > 0]));
      process.exit(7);
    }, 50);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: ["ignore", stdout, "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdout?.on("error", () => {});
  let output = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (output += text));
  const [code]: unknown[] = await once(child, "exit");
  return { code, output };
}

async function openFifo(): Promise<number> {
  const file = path.join(await makeFolder(), "fifo");
  execFileSync("mkfifo", [file]);
  return openSync(file, constants.O_RDWR);
}

test.for([
  ["is on a full disk", async () => openSync("/dev/full", "a")],
  ["is a pipe that nobody reads", openFifo],
] as const)("a process whose standard output %s continues, and exits when it wants to", { timeout: 30_000 }, async ([, open]) => {
  const stdout = await open();
  onTestFinished(() => closeSync(stdout));
  expect(await runProgram(stdout, 100_000)).toEqual({ code: 7, output: "[true,true]" });
});

test("a process whose standard output is an unread socket continues, and exits when it wants to", async () => {
  expect(await runProgram("pipe", 100_000)).toEqual({ code: 7, output: "[true,true]" });
});

test("buffered lines are written when a process exits", async () => {
  const file = path.join(await makeFolder(), "log");
  const stdout = openSync(file, "a");
  onTestFinished(() => closeSync(stdout));
  expect(await runProgram(stdout, 1)).toEqual({ code: 7, output: "[false,false]" });
  expect(
    (await readFile(file, "utf8"))
      .trim()
      .split("\n")
      .map((each): unknown => JSON.parse(each)),
  ).toMatchObject([
    { process: "at once", index: 1 },
    { process: "gathering", index: 1 },
  ]);
});
