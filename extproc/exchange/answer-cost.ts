import type { Interface } from "../../contract/protocol.ts";
import { formatNanoUsd } from "../../ledger/money.ts";
import { applyCuts, editMembers, within, withinObject, write, type Cut, type MemberEdits } from "../protocol/json/splice.ts";
import { createSseParser, encodeSseEvent, type SseEvent } from "../protocol/sse.ts";
import { changeOutput } from "../translate/change-output.ts";
import type { StreamTranslation } from "../translate/translation.ts";

/** `usage.cost` in USD, for clients that ask for it (cost-request.ts). @param body in the client's protocol. */
export function addCost(body: Buffer, client: Interface, nanoUsd: bigint): Buffer {
  // Cohere's rankings have no usage, and most servers report none with images.
  return editMembers(
    body,
    client === "rerank" || client === "image_generation" ? { usage: withinObject(costOf(nanoUsd)) } : usageWith(nanoUsd),
  );
}

/**
 * The same stream, with `usage.cost` where its protocol reports final usage.
 * @param machine each of its outputs has whole events only. @param nanoUsd what the answer costs so far.
 */
export function withCost(machine: StreamTranslation, client: Interface, nanoUsd: () => bigint): StreamTranslation {
  return changeOutput(machine, (output) => addCostToEvents(output, client, nanoUsd));
}

/** The same for a piece of a stream. @param output whole events only. */
export function addCostToEvents(output: Buffer, client: Interface, nanoUsd: () => bigint): Buffer {
  if (!output.includes('"usage"')) return output;
  const parser = createSseParser();
  const events = [...parser.push(output), ...parser.end()];
  const cuts = events.flatMap((event) => cutsOf(event, EDITS[client](event, nanoUsd)));
  return cuts.length === 0 ? output : applyCuts(output, cuts);
}

const NONE: MemberEdits = {};

/** Messages begins with the usage of the prompt alone, and Responses with none. */
const EDITS = {
  chat: (_event, nanoUsd) => usageWith(nanoUsd()),
  messages: ({ event }, nanoUsd) => (event === "message_delta" ? usageWith(nanoUsd()) : NONE),
  responses: (_event, nanoUsd) => ({ response: within(usageWith(nanoUsd())) }),
  // Never streamed.
  embeddings: () => NONE,
  rerank: () => NONE,
  image_generation: () => NONE,
  speech: (_event, nanoUsd) => usageWith(nanoUsd()),
  // A form has no place to ask for it.
  transcription: () => NONE,
} as const satisfies Record<Interface, (event: SseEvent, nanoUsd: () => bigint) => MemberEdits>;

/** Usage that is null stays so. */
function usageWith(nanoUsd: bigint): MemberEdits {
  return { usage: within(costOf(nanoUsd)) };
}

function costOf(nanoUsd: bigint): MemberEdits {
  return { cost: write(Number(formatNanoUsd(nanoUsd))) };
}

function cutsOf({ data, dataRange, event, start, end }: SseEvent, edits: MemberEdits): Cut[] {
  const before = Buffer.from(data);
  const after = editMembers(before, edits);
  if (after === before) return [];
  if (dataRange !== null) return [{ ...dataRange, bytes: after }];
  return [{ start, end, bytes: encodeSseEvent(event, after.toString("utf8")) }];
}
