import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startChild } from "../../../../local/process/child.ts";
import { isAlive } from "../../../../local/process/processes.ts";
import { supervise, type Launch, type Supervised } from "../../../../local/process/supervisor.ts";
import { eventually } from "../../../support/eventually.ts";

let logs: string;
let news: string[];
let givenUp: string[];
let complaints: string[];
let part: Supervised;
beforeEach(async () => {
  logs = await mkdtemp(path.join(tmpdir(), "gateway-supervisor-"));
  news = [];
  givenUp = [];
  complaints = [];
});
afterEach(async () => {
  await part.stop();
  await rm(logs, { recursive: true });
});

/** A part that is a shell script; its standard output is its log. */
function shell(script: string): Launch {
  return async ({ isRestart, onStarted }) => {
    const child = await startChild({
      name: "part",
      program: "/bin/sh",
      parameters: ["-c", script],
      environment: { PATH: "/usr/bin:/bin" },
      logs,
      hasChannel: false,
      isRestart,
      stopSteps: [{ signal: "SIGKILL", waitMs: 5_000 }],
      onComplaint: (name, message) => complaints.push(`${name}: ${message}`),
    });
    onStarted(child);
  };
}

async function start(script: string, { pausesMs = [1, 1, 1], healthyAfterMs = 60_000 } = {}): Promise<Supervised> {
  part = supervise({
    name: "part",
    launch: shell(script),
    pausesMs,
    healthyAfterMs,
    onNews: (line) => news.push(line),
    onGivenUp: (why) => givenUp.push(why),
  });
  await part.start();
  return part;
}

async function killNow(pid: number): Promise<void> {
  process.kill(pid, "SIGKILL");
  await eventually(() => {
    expect(part.pid()).not.toBe(pid);
    expect(news.at(-1)).toBe("part is running again.");
  });
}

test("a killed part is restarted, and the screen shows it", async () => {
  const { pid } = await start("exec sleep 60");
  const first = pid() ?? 0;
  await killNow(first);
  expect(news).toStrictEqual(["part: it exited with SIGKILL; restarting it in 1 ms …", "part is running again."]);
  expect(await isAlive(pid() ?? 0)).toBe(true);
  expect(givenUp).toStrictEqual([]);
});

test("a part that keeps exiting is given up, with the last lines of its log", async () => {
  await start('echo "why it ends"; exit 3');
  await eventually(() => expect(givenUp).toHaveLength(1));
  expect(givenUp[0]?.split("\n")).toStrictEqual([
    "part: it exited with code 3. It exited 4 times in a row; giving up.",
    ...Array.from({ length: 4 }, () => "  why it ends"),
  ]);
});

test("a run's complaints are shown once, even by runs that append to the same log", async () => {
  const { pid } = await start(`echo '{"level":"warn","msg":"run '$$'"}'; exec sleep 60`);
  const pids: number[] = [];
  for (let run = 1; run <= 3; run++) {
    pids.push(pid() ?? 0);
    await eventually(() => expect(complaints).toHaveLength(run));
    if (run < 3) await killNow(pid() ?? 0);
  }
  await part.stop();
  expect(complaints).toStrictEqual(pids.map((each) => `part: run ${each}`));
});

test("exits that lie far apart do not count as consecutive", async () => {
  const { pid } = await start("exec sleep 60", { pausesMs: [1], healthyAfterMs: 0 });
  for (let end = 0; end < 3; end++) await killNow(pid() ?? 0);
  expect(givenUp).toStrictEqual([]);
});

test("a part that does not become ready counts as exited", async () => {
  let launches = 0;
  const launch = shell("exec sleep 60");
  part = supervise({
    name: "part",
    pausesMs: [1, 1, 1],
    onNews: (line) => news.push(line),
    onGivenUp: (why) => givenUp.push(why),
    async launch(attempt) {
      await launch(attempt);
      if (launches++ === 1) throw new Error("part was not ready within 45 seconds");
    },
  });
  await part.start();
  process.kill(part.pid() ?? 0, "SIGKILL");
  await eventually(() => expect(news.at(-1)).toBe("part is running again."));
  expect(news[1]).toBe("part was not ready within 45 seconds; restarting it in 1 ms …");
});

test("a part that is stopped does not restart, not even from a pause", async () => {
  const { pid } = await start("exec sleep 60", { pausesMs: [60_000] });
  const last = pid() ?? 0;
  process.kill(last, "SIGKILL");
  await eventually(() => expect(news).toHaveLength(1));
  await part.stop();
  expect(part.pid()).toBe(last);
  expect(await isAlive(last)).toBe(false);
});
