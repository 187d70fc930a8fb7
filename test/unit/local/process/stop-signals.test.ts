import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { createStopSignals } from "../../../../local/process/stop-signals.ts";

function receiver() {
  const source = new EventEmitter();
  let nowMs = 0;
  let forced = 0;
  const signals = createStopSignals(
    source,
    () => (forced += 1),
    () => nowMs,
  );
  return {
    ...signals,
    forced: () => forced,
    send(name: string, atMs: number) {
      nowMs = atMs;
      source.emit(name);
    },
  };
}

test.for(["SIGINT", "SIGTERM", "SIGHUP"])("%s asks to stop", async (name) => {
  const process = receiver();
  process.send(name, 0);
  expect(process.signal.aborted).toBe(true);
  await expect(process.requested).resolves.toBeUndefined();
});

test("a Ctrl-C that arrives twice, from the terminal and from npm, does not force", () => {
  const process = receiver();
  process.send("SIGINT", 100);
  process.send("SIGINT", 103);
  expect(process.forced()).toBe(0);
});

test("a second Ctrl-C after a while forces", () => {
  const process = receiver();
  process.send("SIGINT", 100);
  process.send("SIGINT", 1200);
  expect(process.forced()).toBe(1);
});
