import { once } from "node:events";
import { connect, createServer } from "node:net";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createBrokenAnswers, type BrokenAnswer } from "../../../extproc/broken-answers.ts";
import { freePort, LOOPBACK } from "../../../local/process/ports.ts";

/** Who ended a request: its model server if Envoy's report of that comes, otherwise its client (docs/decisions/0003). */
const REPORT: BrokenAnswer = { requestId: "a", cluster: "one", status: 200, silentAfterBytes: null, leftAfterBytes: null };
const WITHIN_MS = 20;

function openRequest(nowMs = () => performance.now()) {
  const answers = createBrokenAnswers({ nowMs });
  const decisions: string[] = [];
  answers.watch("a", () => decisions.push("server"));
  answers.judge("a", () => decisions.push("client"), WITHIN_MS);
  return { answers, decisions };
}

/** Something that is written to it now is read by this process in a later turn of its event loop. */
async function openPipe(onData: () => void) {
  const port = await freePort();
  const server = createServer((socket) => socket.on("data", onData)).listen(port, LOOPBACK);
  await once(server, "listening");
  const writer = connect(port, LOOPBACK);
  onTestFinished(() => {
    writer.destroy();
    server.close();
  });
  await Promise.all([once(writer, "connect"), once(server, "connection")]);
  return writer;
}

function beBusy(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

test("without a report, the client left", async () => {
  const { answers, decisions } = openRequest();
  await expect.poll(() => decisions).toEqual(["client"]);
  expect(answers.undecided).toBe(0);
});

test("a report that arrived while the process was too busy to read it counts", async () => {
  let read = () => {};
  const pipe = await openPipe(() => read());
  const { answers, decisions } = openRequest();
  read = () => void answers.report(REPORT);
  pipe.write("a");
  beBusy(2 * WITHIN_MS);
  await sleep(10 * WITHIN_MS);
  expect(decisions).toEqual(["server"]);
});

test("a process that is late waits again, for at most two seconds, for Envoy is late, too", async () => {
  let nowMs = 0;
  const { decisions } = openRequest(() => (nowMs += 100));
  await expect.poll(() => decisions).toEqual(["client"]);
  expect(nowMs).toBeGreaterThan(2_000);
  expect(nowMs).toBeLessThan(2_500);
});

test("what waits is decided at once when the process stops", () => {
  const { answers, decisions } = openRequest();
  answers.close();
  expect(decisions).toEqual(["client"]);
  expect(answers.undecided).toBe(0);
});
