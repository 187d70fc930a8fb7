import { describe, expect, test } from "vitest";
import { addCost, withCost } from "../../../../extproc/exchange/answer-cost.ts";
import type { Interface } from "../../../../contract/protocol.ts";
import { scriptedTranslation } from "../../../support/wire/stream-translation.ts";

const NANO_USD = 12_345n;

function pass(client: Interface, bytes: string): string {
  const output = withCost(scriptedTranslation({}), client, () => NANO_USD).push(Buffer.from(bytes));
  return output === "unchanged" ? output : output.toString("utf8");
}

test("a whole answer's usage gets the cost in front, and nothing else changes", () => {
  const body = '{"id": 12345678901234567890, "usage": {"total_tokens": 3}, "x": 1.0}';
  expect(String(addCost(Buffer.from(body), "chat", NANO_USD))).toBe(
    '{"id": 12345678901234567890, "usage": {"cost":0.000012345,"total_tokens": 3}, "x": 1.0}',
  );
});

test("the provider's own cost is replaced", () => {
  expect(String(addCost(Buffer.from('{"usage":{"cost":9,"total_tokens":3}}'), "chat", NANO_USD))).toBe(
    '{"usage":{"cost":0.000012345,"total_tokens":3}}',
  );
});

test.for(["{}", '{"usage":null}'])("an answer without usage stays as it is: %s", (body) => {
  expect(String(addCost(Buffer.from(body), "chat", NANO_USD))).toBe(body);
});

test.for(['{"id":"r","results":[]}', '{"id":"r","results":[],"usage":null}'])("a ranking without usage gets one: %s", (body) => {
  const ranking: object = JSON.parse(String(addCost(Buffer.from(body), "rerank", NANO_USD)));
  expect(ranking).toEqual({ id: "r", results: [], usage: { cost: 0.000012345 } });
});

test("an amount of one nano-USD is a JSON number, too", () => {
  expect(JSON.parse(String(addCost(Buffer.from('{"usage":{}}'), "chat", 1n)))).toEqual({ usage: { cost: 1e-9 } });
});

describe("streams", () => {
  test("chat: in the chunk with usage, not where usage is null", () => {
    const first = 'data: {"choices":[],"usage":null}\n\n';
    const rest = "data: [DONE]\n\n";
    expect(pass("chat", `${first}data: {"usage":{"total_tokens":3}}\n\n${rest}`)).toBe(
      `${first}data: {"usage":{"cost":0.000012345,"total_tokens":3}}\n\n${rest}`,
    );
    expect(pass("chat", first)).toBe("unchanged");
  });

  test("messages: in the last usage, not in that of the prompt", () => {
    const start = 'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":3}}}\n\n';
    expect(pass("messages", start)).toBe("unchanged");
    expect(pass("messages", `${start}event: message_delta\ndata: {"usage":{"output_tokens":3}}\n\n`)).toBe(
      `${start}event: message_delta\ndata: {"usage":{"cost":0.000012345,"output_tokens":3}}\n\n`,
    );
  });

  test("responses: in the response of the last event", () => {
    const created = 'event: response.created\ndata: {"response":{"usage":null}}\n\n';
    expect(pass("responses", created)).toBe("unchanged");
    expect(pass("responses", `${created}event: response.completed\ndata: {"response":{"usage":{"total_tokens":3}}}\n\n`)).toBe(
      `${created}event: response.completed\ndata: {"response":{"usage":{"cost":0.000012345,"total_tokens":3}}}\n\n`,
    );
  });

  test("text that speaks of usage stays as it is", () => {
    expect(pass("chat", 'data: {"choices":[{"delta":{"content":"\\"usage\\": {}"}}]}\n\n')).toBe("unchanged");
  });

  test("data in several lines becomes one", () => {
    expect(pass("chat", 'data: {"usage":\ndata: {"total_tokens":3}}\n\ndata: [DONE]\n\n')).toBe(
      'data: {"usage":\ndata: {"cost":0.000012345,"total_tokens":3}}\n\ndata: [DONE]\n\n',
    );
  });

  test("the end and a stop for credit report it as well, a failure does not", () => {
    const bytes = Buffer.from('data: {"usage":{"total_tokens":3}}\n\n');
    const machine = withCost(
      scriptedTranslation({ end: () => bytes, stopForCredit: () => bytes, fail: () => bytes }),
      "chat",
      () => NANO_USD,
    );
    const expected = 'data: {"usage":{"cost":0.000012345,"total_tokens":3}}\n\n';
    expect([String(machine.end()), String(machine.stopForCredit())]).toEqual([expected, expected]);
  });
});
