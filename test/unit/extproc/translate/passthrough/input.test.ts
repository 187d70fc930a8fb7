import { expect, test } from "vitest";
import type { Interface } from "../../../../../contract/protocol.ts";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";

const REQUESTS = {
  embeddings: { model: "m", input: "hi" },
  rerank: { model: "m", query: "hi", documents: ["a"] },
  image_generation: { model: "m", prompt: "hi" },
  speech: { model: "m", input: "hi", voice: "v", stream_format: "sse" },
} as const satisfies Partial<Record<Interface, object>>;

const ERROR = {
  error: { message: "inner-model-7b at http://10.0.0.1:8000 does not accept this", type: "invalid_request_error", code: 400 },
};

test.for(["embeddings", "rerank", "image_generation"] as const)(
  "an error that a server of %s sends with status 200 is worded as those with a status are (S17)",
  (client) => {
    const read = () => answerOf(client, ERROR);
    expect(read).toThrow(expect.objectContaining({ code: "invalid_request", status: 400 }));
    expect(read).toThrow("modelx-v4-pro at [address] does not accept this");
  },
);

test("an error within speech is worded in the same way (S17)", () => {
  const input = inputFor(REQUESTS.speech, { upstream: "chat", upstreamModel: "inner-model-7b" });
  const stream = createTranslation("speech", input).stream(createMeter(1));
  const sent = String(stream.push(Buffer.from(`data: ${JSON.stringify(ERROR)}\n\n`)));
  expect(sent).toContain("modelx-v4-pro at [address] does not accept this");
});

test("a picture that is written as an address is what clients decode", () => {
  for (const picture of ["iVBORw0KGgo=", "iVBORw0KGgoA".repeat(1_000)]) {
    const data = [
      { b64_json: `data:image/png;base64,${picture}`, revised_prompt: "é" },
      { b64_json: picture },
      { url: "data:image/png;base64,AAAA" },
    ];
    const { data: read } = JSON.parse(answerOf("image_generation", { created: 1, data }));
    expect(read).toEqual([{ b64_json: picture, revised_prompt: "é" }, { b64_json: picture }, data[2]]);
  }
});

test.for(["responses", "chat", "messages"] as const)(
  "a stored prompt in place of the input is refused by its name, for a server of %s (S21)",
  (upstream) => {
    const create = () => createTranslation("responses", inputFor({ model: "m", prompt: { id: "pmpt_1" } }, { upstream }));
    expect(create).toThrow("`prompt` can't be used: no prompt templates are stored here.");
  },
);

function answerOf(client: keyof typeof REQUESTS, answer: object): string {
  const input = inputFor(REQUESTS[client], { upstream: "chat", upstreamModel: "inner-model-7b" });
  return createTranslation(client, input)
    .response(Buffer.from(JSON.stringify(answer)), createMeter(1))
    .toString();
}
