import { expect, test } from "vitest";
import { withFinalResponse } from "../../../../extproc/exchange/final-response.ts";
import type { StreamTranslation } from "../../../../extproc/translate/translation.ts";
import { scriptedTranslation } from "../../../support/wire/stream-translation.ts";

const event = (type: string, members: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
const response = { id: "resp_1", output: [] };

/** @returns what was handed over. */
function run(machine: Partial<StreamTranslation>, act: (machine: StreamTranslation) => void): unknown[] {
  const found: unknown[] = [];
  const whole = scriptedTranslation({ push: (chunk) => chunk, ...machine });
  act(withFinalResponse(whole, (bytes) => found.push(JSON.parse(String(bytes)))));
  return found;
}

test.for(["response.completed", "response.incomplete"])("%s delivers its response, once, among other events", (type) => {
  const output = event("response.output_text.delta", { delta: "response.completed" }) + event(type, { response });
  expect(run({}, (machine) => machine.push(Buffer.from(output)))).toEqual([response]);
  const twice = (machine: StreamTranslation) => [machine.push(Buffer.from(output)), machine.push(Buffer.from(output))];
  expect(run({}, twice)).toEqual([response]);
});

test("an unchanged chunk, the end and a stop for lack of credit are read as well", () => {
  const last = Buffer.from(event("response.completed", { response }));
  expect(run({ push: () => "unchanged" }, (machine) => machine.push(last))).toEqual([response]);
  expect(run({ end: () => last }, (machine) => machine.end())).toEqual([response]);
  expect(run({ stopForCredit: () => last }, (machine) => machine.stopForCredit())).toEqual([response]);
});

test.for(["response.failed", "response.created", "response.in_progress"])("%s delivers nothing", (type) => {
  expect(run({}, (machine) => machine.push(Buffer.from(event(type, { response }))))).toEqual([]);
});

test("text that mentions the last event is not mistaken for it", () => {
  const output = event("response.output_text.delta", { delta: '{"type":"response.completed","response":{}}' });
  expect(run({}, (machine) => machine.push(Buffer.from(output)))).toEqual([]);
});
