import { expect, test } from "vitest";
import type { Interface } from "../../../../contract/protocol.ts";
import { readCostRequest } from "../../../../extproc/protocol/cost-request.ts";
import { parseBody } from "../../../../extproc/protocol/json/parse-body.ts";

function read(text: string, client: Interface = "chat") {
  const facts = { headers: new Map<string, string>(), interface: client };
  const { body, wantsCost } = readCostRequest(parseBody(Buffer.from(text), facts), facts);
  return { text: body.bytes.toString("utf8"), wantsCost };
}

test("the request for the cost is taken out, and all else stays", () => {
  expect(read('{"model": "m", "usage": {"include": true}, "seed": 1.0}')).toEqual({
    text: '{"model": "m", "seed": 1.0}',
    wantsCost: true,
  });
  expect(read('{"model":"m","usage":{"include":false}}')).toEqual({ text: '{"model":"m"}', wantsCost: false });
});

test("a stream of chat completions then ends with its usage", () => {
  const options = (text: string) => JSON.parse(read(text).text).stream_options;
  expect(options('{"stream":true,"usage":{"include":true}}')).toEqual({ include_usage: true });
  expect(options('{"stream":true,"usage":{"include":true},"stream_options":null}')).toEqual({ include_usage: true });
  expect(options('{"stream":true,"usage":{"include":true},"stream_options":{"include_usage":false,"x":1}}')).toEqual({
    include_usage: true,
    x: 1,
  });
});

test.for(["messages", "responses"] as const)("streams of %s have their usage anyway", (client) => {
  expect(read('{"stream":true,"usage":{"include":true}}', client)).toEqual({ text: '{"stream":true}', wantsCost: true });
});

test.for(["{}", '{"usage":null}', '{"usage":"all"}', '{"usage":{"other":1}}'])(
  "%s asks for nothing, and is left alone",
  (text) => {
    expect(read(text)).toEqual({ text, wantsCost: false });
  },
);

test("`include` is a flag", () => {
  expect(() => read('{"usage":{"include":"yes"}}')).toThrow(
    expect.objectContaining({
      code: "invalid_request",
      field: "usage.include",
      message: "`usage.include` must be true or false.",
    }),
  );
});
