import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { startWatchdog, type Watchdog } from "../../../../local/process/watchdog.ts";
import { eventually } from "../../../support/eventually.ts";

/** Answers everything with 503 and how often it was asked, and loops without end when it is told to. */
const SERVER = `
  let looks = 0;
  const server = require("node:http").createServer((_request, response) => response.writeHead(503).end(String(looks++)));
  server.listen(0, "127.0.0.1", () => process.send(server.address().port));
  process.on("message", () => { for (;;); });
`;

let child: ChildProcess;
let watchdog: Watchdog;
afterEach(async () => {
  await watchdog.stop();
  child.kill("SIGKILL");
});

async function watch(): Promise<{ silences: () => number; looks: () => Promise<number> }> {
  child = spawn(process.execPath, ["-e", SERVER], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const [port] = await once(child, "message");
  let silences = 0;
  watchdog = startWatchdog({
    url: `http://127.0.0.1:${port}/healthz`,
    onSilent: () => void silences++,
    everyMs: 20,
    answerWithinMs: 2_000,
  });
  const looks = async () => Number(await (await fetch(`http://127.0.0.1:${port}/looks`)).text());
  return { silences: () => silences, looks };
}

test.for([
  { name: "stopped", hang: () => child.kill("SIGSTOP") },
  { name: "caught in an endless loop", hang: () => child.send("loop") },
])("a process that is $name is reported, once", async ({ hang }) => {
  const { silences } = await watch();
  hang();
  await eventually(() => expect(silences()).toBe(1), { withinMs: 50_000 });
});

test("a process that answers with an error, and was suspended for a moment, is left alone", async () => {
  const { silences, looks } = await watch();
  child.kill("SIGSTOP");
  child.kill("SIGCONT");
  await eventually(async () => expect(await looks()).toBeGreaterThan(10), { withinMs: 50_000 });
  expect(silences()).toBe(0);
});
