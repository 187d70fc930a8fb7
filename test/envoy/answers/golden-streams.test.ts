import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { NO_USAGE } from "../../../contract/usage.ts";
import { editMembers, write } from "../../../extproc/protocol/json/splice.ts";
import { loadFixtures, type Answer, type Fixture } from "../../golden/harness-fixture.ts";
import { readGoldenStream, toGolden, type GoldenStream } from "../../support/documents/golden-file.ts";
import { makeManifests, type TestModel } from "../../support/stacks/manifests-folder.ts";
import { startReplayUpstream, type ReplayUpstream } from "../../support/servers/replay-upstream.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/**
 * Every streamed answer of test/golden, sent by a real server through a real Envoy: the client gets the golden file's
 * bytes, and the ledger its usage, whatever the pieces.
 */
const PAIRS = [
  "chat-via-chat",
  "chat-via-messages",
  "messages-via-chat",
  "messages-via-messages",
  "responses-via-chat",
  "responses-via-messages",
] as const;
const PATHS = { chat: "/v1/chat/completions", messages: "/v1/messages", responses: "/v1/responses" } as const;

interface Played {
  name: string;
  fixture: Fixture;
  answer: Answer;
  model: string;
}
const PLAYED: Played[] = PAIRS.flatMap(loadFixtures)
  .flatMap((fixture) => fixture.answers.map((answer) => ({ name: `${fixture.name}/${answer.name}`, fixture, answer })))
  .filter(({ answer }) => answer.kind === "stream")
  .map((played, index) => ({ ...played, model: modelName(index) }));

/** Each byte is a chunk for Envoy and extproc to carry. test/golden does without them, so there it is every stream, each day. */
const PIECE_BYTES = inject("isNight") ? 1 : 29;

let upstream: ReplayUpstream;
let stack: TestProduct;
let removeManifests: () => Promise<void>;
beforeAll(async () => {
  upstream = await startReplayUpstream();
  const manifests = await makeManifests(PLAYED.map(toModel));
  removeManifests = manifests.remove;
  stack = await borrowStack({ manifestsDirectory: manifests.directory, creditNanoUsd: 100_000_000_000n });
});
afterAll(async () => {
  await stack.stop();
  await upstream.stop();
  await removeManifests();
});

/** A Model for each stream, named as long as the golden one: an estimate counts the request's bytes. */
function modelName(index: number): string {
  return `replayed-${String(index).padStart(4, "0")}`;
}

function toModel({ fixture: { setup, upstream: protocol }, model }: Played): TestModel {
  return {
    name: model,
    upstream: protocol,
    url: protocol === "chat" ? `${upstream.url(model)}/v1` : upstream.url(model),
    upstreamModel: isRenamed({ setup }) ? setup.upstreamModel : model,
    maxOutputTokens: setup.maxOutputTokens,
    // A busy machine may take longer than usual for a stream in pieces.
    streaming: { keepAlive: "1h" },
    profile: { preset: setup.profile, ...setup.flags },
  };
}

function isRenamed({ setup }: Pick<Fixture, "setup">): boolean {
  return setup.upstreamModel !== setup.model;
}

async function play({ fixture, answer, model }: Played, pieceBytes?: number) {
  const { setup } = fixture;
  expect(model).toHaveLength(setup.model.length);
  const bytes = isRenamed(fixture) ? answer.bytes : Buffer.from(answer.bytes.toString("utf8").replaceAll(setup.model, model));
  upstream.replay(model, { bytes, contentType: "text/event-stream", ...(pieceBytes === undefined ? {} : { pieceBytes }) });
  const response = await fetch(stack.baseUrl + PATHS[fixture.client], {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}`, ...setup.headers },
    body: new Uint8Array(editMembers(fixture.request, { model: write(model) })),
  });
  const text = await response.text();
  expect(response.status, `answered ${text}`).toBe(200);
  const requestId = response.headers.get("x-request-id") ?? "";
  return { requestId, text: toGolden(text, { requestId, model, goldenModel: setup.model }) };
}

async function expectGolden(played: Played, pieceBytes?: number): Promise<void> {
  const golden = readGoldenStream(played.fixture.golden, played.answer.name);
  const { requestId, text } = await play(played, pieceBytes);
  expect(text).toBe(golden.clientText);
  const row = await onlyRow(stack, requestId);
  expect({ outcome: row.outcome, isEstimated: row.isEstimated, usage: row.usage }).toEqual(settled(golden));
}

describe.concurrent("a stream sent whole or in pieces gives the client and the ledger what the golden file contains", () => {
  test.for(PLAYED)("$name", async (played) => {
    await expectGolden(played);
    await expectGolden(played, PIECE_BYTES);
  });
});

test.concurrent.for(PAIRS)("so does a stream of %s sent byte by byte", async (pair) => {
  const played = PLAYED.find(({ fixture }) => fixture.name.startsWith(`${pair}/`));
  if (played === undefined) throw new Error(`${pair} has no stream`);
  await expectGolden(played, 1);
});

/** An answer that ended before its first token costs nothing (docs/decisions/0003). */
function settled({ outcome, isEstimated, usage }: GoldenStream): Omit<GoldenStream, "clientText"> {
  const isFree = outcome !== "complete" && usage.outputTokens === 0;
  return isFree ? { outcome, isEstimated: false, usage: NO_USAGE } : { outcome, isEstimated, usage };
}
