import { PROTOCOLS, type InputInterface, type Interface } from "./protocol.ts";

/** Envoy metadata namespace in which extproc reports attributes for a request's spans. */
export const SPAN_METADATA = "gateway.extproc";

/** Attributes that extproc reports: OpenTelemetry's names for generative AI, and the gateway's own. */
export const SPAN_ATTRIBUTES = [
  "gateway.request_id",
  "gateway.interface",
  "gateway.outcome",
  "error.type",
  "gen_ai.operation.name",
  "gen_ai.request.model",
  "gen_ai.provider.name",
  "gen_ai.usage.input_tokens",
  "gen_ai.usage.output_tokens",
] as const;
export type SpanAttribute = (typeof SPAN_ATTRIBUTES)[number];

const CONVERSATIONS: ReadonlySet<string> = new Set(PROTOCOLS);

/** The conventions' operation name: all conversations are this one. An interface that only a newer version knows has its own name. */
export function operationOf(client: Interface): "chat" | InputInterface;
export function operationOf(client: string): string;
export function operationOf(client: string): string {
  return CONVERSATIONS.has(client) ? "chat" : client;
}
