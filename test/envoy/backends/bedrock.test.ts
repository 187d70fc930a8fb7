import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { onlyRow } from "../../support/billing/settlement.ts";
import {
  ANSWER,
  anthropicOf,
  askForStream,
  CLIENT_NAMES,
  CLIENTS,
  ENDS,
  failureOf,
  openaiOf,
  QUESTION,
  USAGE,
} from "../../support/servers/bedrock-clients.ts";
import { BEDROCK_ARN, BEDROCK_ID, useBedrockModels } from "../../support/servers/bedrock-models.ts";
import { answerError, answerFrames, answerWhole, BEDROCK_FRAMES, BEDROCK_KEYS } from "../../support/servers/bedrock-server.ts";
import { CACHED_CHARGE_NANO_USD } from "../../support/servers/cached-usage.ts";

/** Anthropic's models on Bedrock, in Bedrock's own form, asked by the official SDKs through a real Envoy (S51, docs/decisions/0075). */
const models = useBedrockModels();
const stack = () => models().stack;
const bedrock = () => models().bedrock;

const pathOf = (client: string, model: string) =>
  `/model/${model}/${client.endsWith("streamed") ? "invoke-with-response-stream" : "invoke"}`;

describe.for(CLIENT_NAMES)("a client of %s", (client) => {
  test.for([
    ["by-id", BEDROCK_ID],
    ["by-arn", BEDROCK_ARN.replace("/", "%2F")],
    ["several", BEDROCK_ARN.replace("/", "%2F")],
    ["by-key", BEDROCK_ID],
  ] as const)("gets Bedrock's answer of the Model %s, is charged exactly, and the request is signed", async ([model, id]) => {
    const { requestId, ...read } = await CLIENTS[client](stack(), model);
    expect(read).toEqual({ ...ANSWER, model });
    expect(bedrock().asked).toHaveLength(1);
    expect(bedrock().asked).toMatchObject([
      {
        path: pathOf(client, id),
        problem: null,
        body: { anthropic_version: "bedrock-2023-05-31", tools: [{ name: "get_weather" }] },
      },
    ]);
    for (const name of ["model", "stream"]) expect(bedrock().asked[0]?.body).not.toHaveProperty(name);
    expect(await onlyRow(stack(), requestId)).toMatchObject({
      model,
      backend: "bedrock",
      upstreamProtocol: "messages",
      outcome: "complete",
      isEstimated: false,
      usage: USAGE,
      chargeNanoUsd: CACHED_CHARGE_NANO_USD,
    });
  });

  test("may have a base path, with escapes that are signed as they are sent", async () => {
    bedrock().answerWith(client.endsWith("streamed") ? answerFrames(BEDROCK_FRAMES) : answerWhole);
    expect(await CLIENTS[client](stack(), "below-a-path")).toMatchObject(ANSWER);
    expect(bedrock().asked).toMatchObject([{ path: `/base%20path${pathOf(client, BEDROCK_ID)}`, problem: null }]);
  });

  test.for([
    [400, "ValidationException", "messages.0.content: too many images", 400, "messages.0.content: too many images"],
    [400, "ValidationException", "Input is too long for requested model.", 400, "context"],
    [400, "ValidationException", "The provided model identifier is invalid.", 502, "refused the gateway"],
    [400, "ServiceQuotaExceededException", "Quota of 123456789012", 429, "not accepting requests right now"],
    [403, "AccessDeniedException", "User arn:aws:iam::123456789012:user/x is not authorized", 502, "refused the gateway"],
    [404, "ResourceNotFoundException", "Model use case details of 123456789012", 502, "no usable answer"],
    [408, "ModelTimeoutException", "", 504, "took too long"],
    [424, "ModelErrorException", "Failure of 123456789012", 502, "no usable answer"],
    [429, "ThrottlingException", "Too many tokens for 123456789012", 429, "not accepting requests right now"],
    [500, "InternalServerException", "", 500, "The model server failed"],
  ] as const)("gets %i %s (%s) as %i, in its own protocol, for free", async ([status, name, text, expected, words]) => {
    bedrock().answerWith(answerError({ status, name, message: text }));
    const error = await failureOf(client, stack(), "by-id");
    expect(error).toBeInstanceOf(client.startsWith("chat") ? OpenAI.APIError : Anthropic.APIError);
    expect(error).toMatchObject({ status: expected });
    expect(String(error)).toContain(words);
    expect(String(error)).not.toMatch(/123456789012|Exception|arn:/);
    const { requestID } = error instanceof Anthropic.APIError || error instanceof OpenAI.APIError ? error : {};
    expect(await onlyRow(stack(), requestID ?? "")).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  });

  test("gets a wrong signature as the gateway's own fault", async () => {
    const error = await failureOf(client, stack(), "refused");
    expect(error).toMatchObject({ status: 502 });
    expect(String(error)).toContain("refused the gateway");
    expect(String(error)).not.toContain(BEDROCK_KEYS["access-key-id"]);
    expect(bedrock().asked).toMatchObject([{ problem: "the signature is another" }]);
  });

  test("is answered by the next backend if Bedrock's quota is exceeded", async () => {
    bedrock().answerWith(answerError({ status: 400, name: "ServiceQuotaExceededException", message: "" }));
    const { requestId, text } = await CLIENTS[client](stack(), `throttled-${CLIENT_NAMES.indexOf(client)}`);
    expect(text).toBe("one two three");
    expect(bedrock().asked).toMatchObject([{ problem: null }]);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ backend: "spare", upstreamProtocol: "chat", outcome: "complete" });
    const sent = models().spare.requests.at(-1);
    expect(sent).toMatchObject({ path: "/v1/chat/completions", headers: { accept: expect.not.stringContaining("amazon") } });
    expect(sent?.headers.authorization).toBeUndefined();
  });
});

const requestIdOf = ({ headers }: Response) => headers.get("x-request-id") ?? "";
const BETAS = "fine-grained-tool-streaming-2025-05-14, claude-code-20250219,other-1";

test("betas that the backend lists are in the body, and the answer says that others were left out", async () => {
  const response = await askForStream("messages, streamed", stack(), {
    model: "with-betas",
    headers: { "anthropic-beta": BETAS },
  });
  expect(await response.text()).toMatch(ENDS["messages, streamed"]);
  expect(response.headers.get("x-gateway-dropped")).toBe("anthropic-beta");
  expect(bedrock().asked).toMatchObject([
    { problem: null, body: { anthropic_beta: ["fine-grained-tool-streaming-2025-05-14", "other-1"] } },
  ]);
  expect(bedrock().asked[0]?.headers).not.toHaveProperty("anthropic-beta");
});

test("Bedrock gets no betas unless the backend lists them: it refuses requests for one that it does not know", async () => {
  const headers = { "anthropic-beta": `${BETAS},context-management-2025-06-27` };
  const response = await askForStream("messages, streamed", stack(), {
    model: "by-id",
    headers,
    fields: { context_management: { edits: [] } },
  });
  expect(await response.text()).toMatch(ENDS["messages, streamed"]);
  expect(response.headers.get("x-gateway-dropped")).toBe("anthropic-beta, context_management");
  for (const name of ["anthropic_beta", "context_management"]) expect(bedrock().asked[0]?.body).not.toHaveProperty(name);
});

test("tokens are counted by the gateway, without a request to Bedrock", async () => {
  const { input_tokens: count } = await anthropicOf(stack()).messages.countTokens({ model: "by-id", messages: QUESTION });
  expect(count).toBeGreaterThan(0);
  expect(bedrock().asked).toEqual([]);
});

test("a client of Responses reaches it as well", async () => {
  const answer = await openaiOf(stack()).responses.create({ model: "by-id", input: "Hi." });
  expect(answer).toMatchObject({ output_text: ANSWER.text, usage: { input_tokens: 770, output_tokens: 12 } });
  let text = "";
  for await (const event of await openaiOf(stack()).responses.create({ model: "by-id", input: "Hi.", stream: true }))
    if (event.type === "response.output_text.delta") text += event.delta;
  expect(text).toBe(ANSWER.text);
});

test("AWS's event stream is no answer of a server that is not Bedrock", async () => {
  bedrock().answerWith(answerFrames(BEDROCK_FRAMES));
  const response = await askForStream("messages, streamed", stack(), { model: "plain" });
  expect(response.status).toBe(502);
  expect(await onlyRow(stack(), requestIdOf(response))).toMatchObject({ chargeNanoUsd: 0n });
});
