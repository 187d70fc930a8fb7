import { PROFILES, type Profile, type ProfileName } from "../../../../../contract/profile.ts";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import type { Translation } from "../../../../../extproc/translate/translation.ts";
import { inputFor } from "../input.ts";

/** What these tests read of a chat request. */
export interface ChatRequest {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly [name: string]: unknown;
}

export interface Setup {
  profile?: ProfileName;
  flags?: Partial<Profile>;
  requestId?: string;
}

export function translate(request: object | string, { profile = "generic", flags = {}, requestId }: Setup = {}): Translation {
  const input = inputFor(request, { upstream: "chat", flags: { ...PROFILES[profile], ...flags } });
  return createTranslation("messages", { ...input, requestId: requestId ?? input.requestId });
}

/** The chat request that a messages request becomes; a plain one is completed where members are left out. */
export function chatFor(request: object, setup: Setup = {}): ChatRequest {
  const { upstream } = translate({ ...PLAIN, ...request }, setup);
  const chat: ChatRequest = JSON.parse(upstream.body.toString("utf8"));
  return chat;
}

export const PLAIN = { model: "modelx-v4-pro", max_tokens: 100, messages: [{ role: "user", content: "hi" }] };

/** A conversation around these turns. */
export function turns(...messages: readonly (readonly [role: string, content: unknown])[]): { messages: object[] } {
  return { messages: messages.map(([role, content]) => ({ role, content })) };
}

export function answer(body: object | string, request: object = {}, setup: Setup = {}): unknown {
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  const response = translate({ ...PLAIN, ...request }, setup).response(bytes, createMeter(0));
  return JSON.parse(response.toString("utf8"));
}

export interface Played {
  text: string;
  outcome: string;
}

export function play(chunks: readonly (object | string)[], request: object = {}, setup: Setup = {}): Played {
  const stream = translate({ ...PLAIN, stream: true, ...request }, setup).stream(createMeter(0));
  const bytes = chunks.map((chunk) => Buffer.from(`data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}\n\n`));
  const text = [...bytes.map((chunk) => stream.push(chunk)), stream.end()].map(String).join("");
  return { text, outcome: stream.outcome() };
}

export function completion(message: object, rest: object = {}): object {
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "upstream-model",
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop", ...rest }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  };
}

export function chunk(delta: object | null, rest: object = {}): object {
  const choices = delta === null ? [] : [{ index: 0, delta, finish_reason: null }];
  return { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "upstream-model", choices, ...rest };
}
