import { expect, test } from "vitest";
import * as z from "zod";
import { createLog } from "../../../runtime/log.ts";
import { createOutage } from "../../../runtime/outage.ts";

const lineSchema = z.object({ level: z.string(), msg: z.string(), failures: z.number(), isRecovery: z.boolean().optional() });

function watch() {
  const lines: z.infer<typeof lineSchema>[] = [];
  let nowMs = 0;
  const log = createLog(
    { process: "test", level: "info" },
    { write: (line: string) => void lines.push(lineSchema.parse(JSON.parse(line))) },
  );
  const outage = createOutage({ log, failing: "it is away", over: "it is back", clock: { nowMs: () => nowMs } });
  return { outage, lines, pass: (ms: number) => (nowMs += ms) };
}

test("a repeated failure is logged once, and when it is over", () => {
  const { outage, lines, pass } = watch();
  for (let each = 0; each < 50; each++) {
    outage.failed(new Error("refused"));
    pass(100);
  }
  outage.over();
  outage.over();
  expect(lines).toEqual([
    { level: "warn", msg: "it is away", failures: 1 },
    { level: "info", msg: "it is back", failures: 50, isRecovery: true },
  ]);
});

test("during an outage it is logged once a minute, with the number of failures", () => {
  const { outage, lines, pass } = watch();
  for (let each = 0; each < 13; each++) {
    outage.failed(new Error("refused"));
    pass(10_000);
  }
  expect(lines.map(({ failures }) => failures)).toEqual([1, 7, 13]);
});

test("the next outage is logged at once", () => {
  const { outage, lines } = watch();
  outage.failed(new Error("refused"));
  outage.over();
  outage.failed(new Error("refused"));
  expect(lines.map(({ level }) => level)).toEqual(["warn", "info", "warn"]);
});

test("without a failure nothing is reported as over", () => {
  const { outage, lines } = watch();
  outage.over();
  expect(lines).toEqual([]);
});
