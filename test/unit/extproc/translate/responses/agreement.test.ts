import * as fc from "fast-check";
import OpenAI from "openai";
import { describe, expect, inject, test } from "vitest";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import type { Translation } from "../../../../../extproc/translate/translation.ts";
import { loadFixtures } from "../../../../golden/harness-fixture.ts";
import { playStream } from "../../../../golden/harness-run.ts";
import { messageArbitrary, toTranscript, type TestMessage } from "../chat-via-messages/messages.ts";
import { inputFor } from "../input.ts";
import { replayResponses } from "../replay.ts";

const REQUEST = { model: "modelx-v4-pro", input: "hi", stream: true, include: ["reasoning.encrypted_content"] };

function translation(): Translation {
  return createTranslation("responses", inputFor(REQUEST, { upstream: "messages" }));
}

interface Answer {
  id: string;
  status: string;
  output: { id: string; type: string; call_id?: string }[];
  usage: unknown;
  incomplete_details: unknown;
}

function whole(message: TestMessage) {
  const meter = createMeter(100);
  const body = translation().response(Buffer.from(JSON.stringify(message)), meter);
  const answer: Answer = JSON.parse(body.toString("utf8"));
  return { answer, metered: meter.final() };
}

function streamed(message: TestMessage) {
  const meter = createMeter(100);
  const stream = translation().stream(meter);
  const text = stream.push(Buffer.from(toTranscript(message))).toString() + stream.end().toString();
  return { text, metered: meter.final(), outcome: stream.outcome() };
}

test("the openai SDK reads the same from the stream as from the complete answer", async () => {
  await fc.assert(
    fc.asyncProperty(messageArbitrary, async (message) => {
      const { answer, metered } = whole(message);
      const { text, metered: streamMetered, outcome } = streamed(message);
      expect(outcome).toBe("complete");
      expect(streamMetered).toEqual(metered);
      const { id, status, usage, incomplete_details } = await replayResponses(text);
      expect({ id, status, usage, incomplete_details }).toEqual({
        id: answer.id,
        status: answer.status,
        usage: answer.usage,
        incomplete_details: answer.incomplete_details,
      });
      expect(lastResponse(text).output).toEqual(answer.output);
      expect(doneItems(text)).toEqual(answer.output);
    }),
    { numRuns: inject("isNight") ? 300 : 100 },
  );
});

test("every item and every call has its own id", () => {
  fc.assert(
    fc.property(messageArbitrary, (message) => {
      const { output } = whole(message).answer;
      const calls = output.flatMap(({ call_id: id }) => (id === undefined ? [] : [id]));
      expect(new Set(output.map(({ id }) => id)).size).toBe(output.length);
      expect(new Set(calls).size).toBe(calls.length);
      expect(calls).not.toContain("");
    }),
  );
});

describe.for(["responses-via-chat", "responses-via-messages"] as const)("the official SDK reads every stream of %s", (pair) => {
  const streams = loadFixtures(pair).flatMap((fixture) =>
    fixture.answers
      .filter(({ kind }) => kind === "stream")
      .map(({ name, bytes }) => ({ name: `${fixture.name}/${name}`, ...playStream(fixture, [bytes]) })),
  );

  test.for(streams.filter(({ outcome }) => outcome === "complete"))("$name", async ({ text }) => {
    const { output, status } = await replayResponses(text);
    expect(status).toBe(lastResponse(text).status);
    expect(output.map(({ type }) => type)).toEqual(lastResponse(text).output.map(({ type }) => type));
  });

  test.for(streams.filter(({ outcome }) => outcome !== "complete"))(
    "$name is an error, never a complete answer (S22)",
    async ({ text }) => {
      await expect(replayResponses(text)).rejects.toBeInstanceOf(OpenAI.APIError);
    },
  );

  test.for(streams)("$name: deltas add up to the items, and events are numbered", ({ text }) => {
    const events = eventsOf(text);
    expect(events.map((event) => event["sequence_number"])).toEqual(events.map((_, index) => index));
    const texts = new Map(events.flatMap((event) => wholeText(event)));
    const sums = new Map([...texts.keys()].map((id) => [id, deltasOf(events, id)]));
    expect(sums).toEqual(texts);
  });
});

/** What a `.done` event says of its item's text. */
function wholeText(event: Event): [id: unknown, text: string][] {
  const text = event["text"] ?? event["arguments"] ?? event["input"] ?? event["refusal"];
  return typeof text === "string" ? [[event["item_id"], text]] : [];
}

function deltasOf(events: readonly Event[], id: unknown): string {
  const own = events.filter((event) => event["item_id"] === id);
  return own.map((event) => (typeof event["delta"] === "string" ? event["delta"] : "")).join("");
}

type Event = { readonly [name: string]: unknown };

function eventsOf(text: string): Event[] {
  return text
    .split("\n\n")
    .filter((block) => block.startsWith("event: "))
    .map((block): Event => JSON.parse(block.slice(block.indexOf("\ndata: ") + "\ndata: ".length)));
}

function lastResponse(text: string): Answer {
  return Object(eventsOf(text).at(-1)?.["response"]);
}

function doneItems(text: string): unknown[] {
  return eventsOf(text).flatMap((event) => (event["type"] === "response.output_item.done" ? [event["item"]] : []));
}
