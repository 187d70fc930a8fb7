import * as z from "zod";
import type { Backend } from "../../../contract/catalogue.ts";
import { GatewayError } from "../../../contract/errors.ts";
import { VERTEX_COUNT_PATH } from "../../../contract/platform.ts";
import type { Protocol } from "../../../contract/protocol.ts";
import { ANSWER_BOUNDS, parseWithin } from "../../protocol/json/bounds.ts";
import type { RequestBody } from "../../protocol/json/request-body.ts";
import { remove, write } from "../../protocol/json/splice.ts";
import { readUpstreamError } from "../../protocol/upstream-error.ts";
import { providerOf } from "../../route/provider-key.ts";
import { estimateInputTokens } from "./estimate.ts";
import { fieldsLeftOut, knownBetas } from "../passthrough/betas.ts";
import { messagesHeaders } from "../passthrough/messages.ts";
import { leaveForeignThinking } from "../passthrough/own-reasoning.ts";
import { VERTEX_MEMBERS } from "../platform/vertex.ts";
import type { Translation } from "../translation.ts";

/** As the client's interface has it. */
interface Count {
  object?: "response.input_tokens";
  input_tokens: number;
}

/** One request for the number of tokens of a prompt (S16). It never becomes a run, so it costs nothing. */
export interface TokenCount {
  /** The request to send upstream; null if the upstream's protocol cannot count. */
  readonly upstream: Translation["upstream"] | null;
  /**
   * The upstream's own count, or our estimate if it gave none.
   * @throws GatewayError `invalid_request` if the upstream rejects the request as invalid (S22).
   */
  answer(status: number, body: Buffer): Count;
  estimate(): Count;
}

export interface TokenCountInput {
  body: RequestBody;
  headers: ReadonlyMap<string, string>;
  backend: Backend;
}

const NO_HEADERS: ReadonlyMap<string, string> = new Map();
const countSchema = z.object({ input_tokens: z.int().nonnegative() });

/**
 * A messages upstream counts itself, with bytes unchanged except for the model's name and thinking of other servers; for the
 * others the gateway estimates.
 * @throws GatewayError `invalid_request` for a request without messages: its other members are no prompt.
 */
export function createTokenCount({ body, headers, backend }: TokenCountInput): TokenCount {
  if (!Array.isArray(body.outline["messages"]) || body.outline["messages"].length === 0)
    throw new GatewayError("invalid_request", "`messages` is missing. Send an array with at least one message.", {
      field: "messages",
    });
  // Computed only when needed: it reads the whole prompt.
  const estimate = () => ({ input_tokens: estimateInputTokens(body.whole()) });
  return {
    upstream: QUESTIONS[backend.protocol]({ body, headers, backend }),
    answer(status, counted) {
      // Vertex AI's count refuses what the model accepts.
      if (status === 400 && backend.platform === undefined) throw refusedCount(counted, { backend, client: "messages" });
      return (status === 200 ? readCount(counted) : undefined) ?? estimate();
    },
    estimate,
  };
}

/**
 * Chat completions cannot count; Responses can, but only its own items, and the estimate does not require translation into them.
 * Bedrock counts with another permission.
 */
const QUESTIONS = {
  chat: () => null,
  responses: () => null,
  messages: askMessages,
} as const satisfies Record<Protocol, (input: TokenCountInput) => TokenCount["upstream"]>;

function askMessages({ body, headers, backend }: TokenCountInput): TokenCount["upstream"] {
  if (backend.platform === "bedrock") return null;
  if (backend.platform === "vertex") return askVertex({ body, headers, backend });
  const sent = messagesHeaders(headers);
  const known = knownBetas(sent, backend);
  const leftOut = Object.fromEntries(fieldsLeftOut(sent, known).map((field) => [field, remove]));
  return {
    path: "/v1/messages/count_tokens",
    body: body.edit({ ...leftOut, model: write(backend.upstreamModel), messages: leaveForeignThinking }),
    headers: known,
  };
}

/** Without betas, of which it knows fewer than its models do. */
function askVertex({ body, headers, backend }: TokenCountInput): TokenCount["upstream"] {
  const leftOut = Object.fromEntries(fieldsLeftOut(messagesHeaders(headers), {}).map((field) => [field, remove]));
  return {
    path: VERTEX_COUNT_PATH,
    body: body.edit({ ...leftOut, ...VERTEX_MEMBERS, model: write(backend.upstreamModel), messages: leaveForeignThinking }),
    headers: {},
  };
}

/** What the client reads of a server that finds the request invalid, in its own interface's words. */
export function refusedCount(body: Buffer, { backend, client }: { backend: Backend; client: Protocol }): GatewayError {
  return readUpstreamError({
    status: 400,
    headers: NO_HEADERS,
    body,
    upstream: backend.protocol,
    client,
    provider: providerOf(backend),
  });
}

/** Not every server counts; any other reply is not a count. */
export function readCount(body: Buffer): { input_tokens: number } | undefined {
  try {
    return countSchema.safeParse(parseWithin(body, ANSWER_BOUNDS)).data;
  } catch {
    return undefined;
  }
}
