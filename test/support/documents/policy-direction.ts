import { PROFILES, type Profile } from "../../../contract/profile.ts";
import type { Protocol } from "../../../contract/protocol.ts";
import { CONTENT_POLICIES as CHAT_CONTENT } from "../../../extproc/translate/chat/content-policy.ts";
import { FIELD_POLICIES as CHAT_FIELDS } from "../../../extproc/translate/chat/policy.ts";
import { createTranslation } from "../../../extproc/translate/choose.ts";
import { CONTENT_POLICIES as MESSAGES_CONTENT } from "../../../extproc/translate/messages/content-policy.ts";
import { FIELD_POLICIES as MESSAGES_FIELDS } from "../../../extproc/translate/messages/policy.ts";
import { policyFor, type Policy } from "../../../extproc/translate/policy.ts";
import { CONTENT_POLICIES as RESPONSES_CONTENT } from "../../../extproc/translate/responses/content-policy.ts";
import { FIELD_POLICIES as RESPONSES_FIELDS } from "../../../extproc/translate/responses/policy.ts";
import type { Translation } from "../../../extproc/translate/translation.ts";
import { inputFor } from "../../unit/extproc/translate/input.ts";

/** One direction of translation with its tables, and a plain request that their examples are put into. */
export interface PolicyDirection {
  readonly name: `${Protocol}-via-${Protocol}`;
  readonly client: Protocol;
  readonly upstream: Protocol;
  readonly fields: readonly Policy[];
  readonly contents: readonly Policy[];
  readonly plain: Readonly<Record<string, unknown>>;
  /** An upstream that takes everything which some server of its protocol takes. */
  readonly profile: Profile;
}

export const CHAT_VIA_MESSAGES: PolicyDirection = {
  name: "chat-via-messages",
  client: "chat",
  upstream: "messages",
  fields: CHAT_FIELDS,
  contents: CHAT_CONTENT,
  plain: {
    model: "modelx-v4-pro",
    messages: [{ role: "user", content: "hi" }],
    tools: [{ type: "function", function: { name: "f" } }],
  },
  profile: PROFILES.anthropic,
};

export const MESSAGES_VIA_CHAT: PolicyDirection = {
  name: "messages-via-chat",
  client: "messages",
  upstream: "chat",
  fields: MESSAGES_FIELDS,
  contents: MESSAGES_CONTENT,
  plain: {
    model: "modelx-v4-pro",
    max_tokens: 50,
    messages: [{ role: "user", content: "hi" }],
    tools: [{ name: "f" }],
  },
  profile: { ...PROFILES.generic, rejects: [] },
};

export const CHAT_VIA_RESPONSES: PolicyDirection = {
  ...CHAT_VIA_MESSAGES,
  name: "chat-via-responses",
  upstream: "responses",
  profile: PROFILES.openai,
};

export const MESSAGES_VIA_RESPONSES: PolicyDirection = {
  ...MESSAGES_VIA_CHAT,
  name: "messages-via-responses",
  upstream: "responses",
  profile: PROFILES.openai,
};

const RESPONSES = {
  client: "responses",
  fields: RESPONSES_FIELDS,
  contents: RESPONSES_CONTENT,
  plain: {
    model: "modelx-v4-pro",
    input: "hi",
    tools: [{ type: "function", name: "f" }],
  },
} as const;

export const RESPONSES_VIA_CHAT: PolicyDirection = {
  name: "responses-via-chat",
  upstream: "chat",
  ...RESPONSES,
  profile: { ...PROFILES.generic, rejects: [], accepts: PROFILES.openai.accepts, files: true },
};

export const RESPONSES_VIA_MESSAGES: PolicyDirection = {
  name: "responses-via-messages",
  upstream: "messages",
  ...RESPONSES,
  profile: PROFILES.anthropic,
};

/** The rows of a direction's tables, as they are for its servers. */
export function policiesOf({ upstream }: PolicyDirection, policies: readonly Policy[]): Policy[] {
  return policies.map((policy) => policyFor(policy, upstream));
}

/** The older form of tools is allowed only without `tools`. */
const LEGACY = new Set(["functions", "function_call"]);

/** The whole request that shows a policy: its example within the plain one. */
export function exampleRequest({ plain, fields }: PolicyDirection, policy: Policy): Readonly<Record<string, unknown>> {
  if (!fields.some(({ field }) => field === policy.field)) return { ...plain, ...Object(policy.example) };
  const around = LEGACY.has(policy.field) ? { ...plain, tools: undefined, functions: [{ name: "f" }] } : plain;
  return { ...around, [policy.field]: policy.example };
}

/** @throws GatewayError if the direction refuses the request. */
export function translateRequest(direction: PolicyDirection, request: object, flags: Partial<Profile> = {}): Translation {
  const input = inputFor(request, { upstream: direction.upstream, flags: { ...direction.profile, ...flags } });
  return createTranslation(direction.client, input);
}
