import * as z from "zod";
import type { AnswerWindow, CatalogueModel } from "../../contract/catalogue.ts";
import { explain } from "../crd/explain.ts";
import { serverTls, type BackendResource } from "./backend-resource.ts";
import { credentialHeader } from "./credential-header.ts";
import { durationSchema } from "./duration.ts";
import { must } from "./field-message.ts";
import { someText } from "./plain-text.ts";
import { secretReference } from "./secret-reference.ts";
import { guardrailUrl } from "./upstream-url.ts";

const NEEDS_HTTPS = "needs an https url";
const NEEDS_CREDENTIAL = "needs a credentialRef";
const NEEDS_ANSWERS = "needs Answers in check";
const TWICE = "must not name the same twice";
const CHARACTERS = "must be a whole number from 100 to 100000";
const PARTS = ["Requests", "Answers"] as const;

const streamWindow = z
  .strictObject(
    {
      characters: z
        .int(must("be a whole number from 100 to 100000"))
        .min(100, CHARACTERS)
        .max(100_000, CHARACTERS)
        .optional()
        .describe("Size of a window: from 100 to 100000 characters; 2000 if absent."),
      time: durationSchema({
        minimumMs: 100,
        maximumMs: 30_000,
        claim: "from 100ms to 30s",
        description: "Time after which a shorter window is checked: from 100ms to 30s; 1s if absent.",
      }).optional(),
    },
    must("have characters and time"),
  )
  .describe(
    "How much of a streamed answer is checked at once. A window goes to the client once it has passed. The first windows of an answer are smaller.",
  );

/** A hook that checks the text of a Model's requests, or of its answers. */
export const guardrailResourceSchema = z
  .strictObject(
    {
      url: guardrailUrl,
      model: someText(256)
        .optional()
        .describe("Model that the hook should use, such as omni-moderation-latest; the hook chooses if absent."),
      credentialRef: secretReference({
        key: "api-key",
        otherwise: must("name a Secret: name, and key if it is not api-key"),
      })
        .optional()
        .describe("Secret in the Model's namespace with the hook's API key. Envoy adds it to requests."),
      credentialHeader: credentialHeader.optional(),
      tls: serverTls.optional().describe("How the hook's certificate is verified. Requires an https url."),
      timeout: durationSchema({
        minimumMs: 100,
        maximumMs: 5_000,
        claim: "from 100ms to 5s",
        description: "Time for a check, including queueing: from 100ms to 5s; 2s if absent.",
      }).optional(),
      onFailure: z
        .enum(["Refuse", "Allow"], must("be Refuse or Allow"))
        .default("Refuse")
        .describe(
          "What happens to a request or an answer if the hook gives no verdict in time: Refuse returns 503, or ends the stream with an error; Allow passes it on unchecked.",
        ),
      check: z
        .array(z.enum(PARTS, must("be Requests or Answers")), must("be a list of Requests and Answers"))
        .min(1, "must name Requests, Answers or both")
        .max(PARTS.length, TWICE)
        .refine((parts) => new Set(parts).size === parts.length, TWICE)
        .default(["Requests"])
        .meta(
          explain("What is checked: Requests, Answers or both. Answers can be checked for conversations only.", { list: "set" }),
        ),
      streamWindow: streamWindow.optional(),
    },
    must("have url"),
  )
  .refine(({ tls, url }) => tls === undefined || url.startsWith("https:"), { path: ["tls"], message: NEEDS_HTTPS })
  .refine(({ credentialHeader, credentialRef }) => credentialHeader === undefined || credentialRef !== undefined, {
    path: ["credentialHeader"],
    message: NEEDS_CREDENTIAL,
  })
  .refine(({ streamWindow, check }) => streamWindow === undefined || check.includes("Answers"), {
    path: ["streamWindow"],
    message: NEEDS_ANSWERS,
  })
  .meta(
    explain(
      "Service that checks the text of each request before a model server gets it, or of each answer before the client does, in the format of OpenAI's moderations API. If absent, nothing is checked.",
      {
        rules: [
          { rule: `!has(self.tls) || self.url.startsWith("https:")`, message: NEEDS_HTTPS, field: "tls" },
          {
            rule: "!has(self.credentialHeader) || has(self.credentialRef)",
            message: NEEDS_CREDENTIAL,
            field: "credentialHeader",
          },
          {
            rule: '!has(self.streamWindow) || (has(self.check) && "Answers" in self.check)',
            message: NEEDS_ANSWERS,
            field: "streamWindow",
          },
        ],
      },
    ),
  );

type GuardrailResource = z.infer<typeof guardrailResourceSchema>;

/** Names it in statuses and clusters: no backend can have this name. */
export const GUARDRAIL = "spec.guardrail";

const DEFAULT_TIMEOUT_MS = 2_000;
const DEFAULT_WINDOW_CHARACTERS = 2_000;
const DEFAULT_WINDOW_MS = 1_000;

/** To Envoy, a hook is a server like a backend: address, certificate and credential have the same rules. */
function asServer({ url, credentialRef, credentialHeader, tls }: GuardrailResource): BackendResource {
  return {
    name: GUARDRAIL,
    protocol: "ChatCompletions",
    url,
    weight: 0,
    priority: 0,
    ...(credentialRef === undefined ? {} : { credentialRef }),
    ...(credentialHeader === undefined ? {} : { credentialHeader }),
    ...(tls === undefined ? {} : { tls }),
  };
}

/** What Envoy is to reach for a Model. */
export function serversOf({
  backends,
  guardrail,
}: {
  backends: BackendResource[];
  guardrail?: GuardrailResource | undefined;
}): BackendResource[] {
  return guardrail === undefined ? backends : [...backends, asServer(guardrail)];
}

export function toGuardrail(
  { url, model, timeout = DEFAULT_TIMEOUT_MS, onFailure, check, streamWindow = {} }: GuardrailResource,
  cluster: string,
): NonNullable<CatalogueModel["guardrail"]> {
  return {
    cluster,
    path: new URL(url).pathname,
    ...(model === undefined ? {} : { model }),
    timeoutMs: timeout,
    onFailure: onFailure === "Allow" ? "allow" : "refuse",
    // What is left out when it is not used can be read by earlier versions.
    ...(check.includes("Requests") ? {} : { requests: false }),
    ...(check.includes("Answers") ? { answers: toWindow(streamWindow) } : {}),
  };
}

function toWindow({
  characters = DEFAULT_WINDOW_CHARACTERS,
  time = DEFAULT_WINDOW_MS,
}: NonNullable<GuardrailResource["streamWindow"]>): AnswerWindow {
  return { windowCharacters: characters, windowMs: time };
}
