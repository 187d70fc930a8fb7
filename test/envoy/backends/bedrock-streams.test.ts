import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { onlyRow } from "../../support/billing/settlement.ts";
import { ANSWER, askForStream, CLIENTS, ENDS, failureOf, STREAMED, USAGE } from "../../support/servers/bedrock-clients.ts";
import { useBedrockModels } from "../../support/servers/bedrock-models.ts";
import { answerFrames, answerWhole, BEDROCK_FRAMES, beginFrames } from "../../support/servers/bedrock-server.ts";
import { CACHED_CHARGE_NANO_USD } from "../../support/servers/cached-usage.ts";
import { encodeException, encodePrelude } from "../../support/wire/event-stream.ts";

/** Bedrock's binary streams, whole and broken, as server-sent events through a real Envoy (S51, docs/decisions/0075). */
const models = useBedrockModels();
const stack = () => models().stack;
const bedrock = () => models().bedrock;

const requestIdOf = ({ headers }: Response) => headers.get("x-request-id") ?? "";
const bytesOf = (frames: readonly Buffer[]) => frames.reduce((bytes, frame) => bytes + frame.length, 0);
const ERRORS = {
  "messages, streamed": /\n\nevent: error\ndata: (\{"type":"error".*\})\n\n$/,
  "chat, streamed": /\n\ndata: (\{"error":.*\})\nevent: error\n\n$/,
} as const;
const deliver = answerFrames(BEDROCK_FRAMES);
const BEFORE = BEDROCK_FRAMES.slice(0, 5);

describe.for(STREAMED)("a stream for a client of %s", (client) => {
  test("is server-sent events, without Bedrock's headers", async () => {
    const response = await askForStream(client, stack(), { model: "by-id" });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect([...response.headers.keys()].filter((name) => name.startsWith("x-amz"))).toEqual([]);
    expect(await response.text()).toMatch(ENDS[client]);
    expect(bedrock().asked[0]?.headers).toMatchObject({
      accept: "application/vnd.amazon.eventstream",
      "content-type": "application/json",
      "x-amz-content-sha256": expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(bedrock().asked[0]?.headers).not.toHaveProperty("anthropic-version");
  });

  test("is the same in pieces of one byte, and costs the same", async () => {
    bedrock().answerWith(answerFrames(BEDROCK_FRAMES, { pieceBytes: 1 }));
    const { requestId, ...read } = await CLIENTS[client](stack(), "by-id");
    expect(read).toEqual({ ...ANSWER, model: "by-id" });
    expect(await onlyRow(stack(), requestId)).toMatchObject({ usage: USAGE, chargeNanoUsd: CACHED_CHARGE_NANO_USD });
  });

  test("may be one document", async () => {
    bedrock().answerWith(answerWhole);
    expect(await CLIENTS[client](stack(), "by-id")).toMatchObject(ANSWER);
  });

  test.for([
    ["throttlingException", "not accepting requests right now"],
    ["modelStreamErrorException", "no usable answer"],
    ["internalServerException", "The model server failed"],
    ["serviceUnavailableException", "overloaded"],
    ["modelTimeoutException", "took too long"],
    ["validationException", "about 123 tokens"],
  ] as const)("ends with its protocol's error for %s; what was delivered is charged", async ([name, words]) => {
    bedrock().answerWith(answerFrames([...BEFORE, encodeException(name, "about 123 tokens")]));
    const response = await askForStream(client, stack(), { model: "by-id" });
    const text = await response.text();
    expect(text).toContain("Grüße");
    expect(text).not.toMatch(ENDS[client]);
    expect(ERRORS[client].exec(text)?.[1]).toContain(words);
    const row = await onlyRow(stack(), requestIdOf(response));
    expect(row).toMatchObject({ outcome: "failed", httpStatus: 200 });
    expect(row.usage.outputTokens).toBeGreaterThan(0);
    expect(row.usage.outputTokens).toBeLessThan(12);
  });

  test("is raised by its SDK as an error, for an exception after text", async () => {
    bedrock().answerWith(answerFrames([...BEFORE, encodeException("throttlingException", "")]));
    const error = await failureOf(client, stack(), "by-id");
    expect(error).toBeInstanceOf(client.startsWith("chat") ? OpenAI.APIError : Anthropic.APIError);
    expect(String(error)).toContain("not accepting requests right now");
  });

  test("of nothing but an exception is free", async () => {
    bedrock().answerWith(answerFrames([encodeException("throttlingException", "")]));
    const response = await askForStream(client, stack(), { model: "by-id" });
    expect(await response.text()).toContain("not accepting requests right now");
    expect(await onlyRow(stack(), requestIdOf(response))).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  });

  test("ends at a damaged message, with the events before it", async () => {
    const bytes = Buffer.concat(BEDROCK_FRAMES);
    const at = bytesOf(BEDROCK_FRAMES.slice(0, 4)) + 90;
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    bedrock().answerWith(answerFrames([bytes]));
    const response = await askForStream(client, stack(), { model: "by-id" });
    const text = await response.text();
    expect(text).toContain("Grüße");
    expect(text).not.toContain("世界");
    expect(ERRORS[client].exec(text)?.[1]).toContain("stream is damaged");
    expect(await onlyRow(stack(), requestIdOf(response))).toMatchObject({ outcome: "failed" });
  });

  test("ends at a message above the bound, before it is complete", async () => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    bedrock().answerWith((response) => {
      beginFrames(response);
      // The rest never comes.
      response.write(Buffer.concat([...BEFORE, encodePrelude({ length: 32 * 1024 * 1024 + 1 })]));
      response.on("close", resolve);
    });
    const response = await askForStream(client, stack(), { model: "by-id" });
    expect(ERRORS[client].exec(await response.text())?.[1]).toContain("one event of more than 32 MiB");
    expect(await onlyRow(stack(), requestIdOf(response))).toMatchObject({ outcome: "failed" });
    await ended;
  });

  test.for([0, 5, 300])("that its server breaks off %i bytes into a message is reported as such", async (more) => {
    bedrock().answerWith((response) => {
      beginFrames(response);
      response.write(Buffer.concat(BEDROCK_FRAMES).subarray(0, bytesOf(BEFORE) + more));
      setTimeout(() => response.destroy(), 200);
    });
    const response = await askForStream(client, stack(), { model: "by-id" });
    const text = await response.text();
    expect(text).toContain("Grüße");
    expect(ERRORS[client].exec(text)?.[1]).toMatch(/stopped in the middle of its answer|ended before it was complete/);
    expect(await onlyRow(stack(), requestIdOf(response))).toMatchObject({ outcome: "truncated" });
  });

  test.for([
    [
      "before its server's headers",
      async (response: ServerResponse, answered: Promise<void>) => {
        await answered;
        await deliver(response);
      },
    ],
    [
      "after its server's headers",
      async (response: ServerResponse, answered: Promise<void>) => {
        beginFrames(response);
        response.flushHeaders();
        await answered;
        response.end(Buffer.concat(BEDROCK_FRAMES));
      },
    ],
  ] as const)("may be answered early, %s", async ([, answer]) => {
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    bedrock().answerWith((response) => answer(response, answered));
    const response = await askForStream(client, stack(), { model: "early" });
    resolve();
    const text = await response.text();
    expect(text).toContain("世界");
    expect(text).toMatch(ENDS[client]);
    expect(await onlyRow(stack(), requestIdOf(response))).toMatchObject({
      outcome: "complete",
      usage: USAGE,
      chargeNanoUsd: CACHED_CHARGE_NANO_USD,
    });
  });
});
