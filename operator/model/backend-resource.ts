import * as z from "zod";
import { PROVIDER_NAME, PROVIDER_NAME_LENGTH } from "../../contract/provider-key.ts";
import { EFFORTS, PROFILE_NAMES, profileFlagsSchema } from "../../contract/profile.ts";
import { explain } from "../crd/explain.ts";
import { cloudCredential } from "./cloud-credential.ts";
import { credentialHeader } from "./credential-header.ts";
import { durationSchema } from "./duration.ts";
import { must } from "./field-message.ts";
import { someText } from "./plain-text.ts";
import { poolReference } from "./pool-reference.ts";
import { secretReference } from "./secret-reference.ts";
import { upstreamUrl } from "./upstream-url.ts";

/** Protocols of servers, as in manifests. */
export const UPSTREAM_PROTOCOLS = ["ChatCompletions", "Messages", "Responses"] as const;
/** Interfaces that are no conversations: they reach servers of ChatCompletions only. */
export const INPUT_INTERFACES = ["Embeddings", "Rerank", "ImageGeneration", "Speech", "Transcription"] as const;
/** Interfaces for clients: a conversation reaches servers of every protocol. */
export const INTERFACES = [...UPSTREAM_PROTOCOLS, ...INPUT_INTERFACES] as const;

const TWO_VERSIONS = "must end before /v1 for protocol Messages; the gateway appends /v1/messages";
const NEEDS_MESSAGES = "needs protocol Messages";
const NEEDS_HTTPS = "needs an https url";
const NEEDS_SERVER = "is required, or pool in its place";
const TWO_SERVERS = "must not accompany url; remove one of them";
const PROVIDER_EXAMPLE = "must be lower-case letters, digits and -, such as openai";
const NO_POOL = "must not accompany pool";
const NEEDS_CREDENTIAL = "needs a credentialRef";
const OWN_TLS = "must not accompany credential.google, whose tokens go only to servers with a certificate of a public authority";
const TWO_CREDENTIALS = "must not accompany credentialRef; remove one of them";

/** How a server's certificate is verified. */
export const serverTls = z.strictObject(
  {
    serverName: z
      .string(must("be a host name"))
      .regex(/^[A-Za-z0-9_.:-]+$/, "must be a host name or an IP address")
      .max(253, "must be at most 253 characters")
      .optional()
      .describe("Name that the server's certificate must have, also sent as SNI; the host of url if absent."),
    caSecretRef: secretReference({ key: "ca.crt" })
      .optional()
      .describe("Secret in the Model's namespace with the CA certificates, in PEM; public CAs are trusted if absent."),
  },
  must("have serverName or caSecretRef"),
);

export function connectTimeout(description: string) {
  return durationSchema({ minimumMs: 100, maximumMs: 60_000, claim: "from 100ms to 60s", description });
}

const timeouts = z.strictObject(
  { connect: connectTimeout("Time to open a connection: from 100ms to 60s; the Model's if absent.").optional() },
  must("have connect"),
);

const profile = z.strictObject(
  {
    preset: z
      .enum(PROFILE_NAMES, must(`be one of ${PROFILE_NAMES.join(", ")}`))
      .optional()
      .describe(
        "Kind of server; if absent, generic for ChatCompletions, anthropic for Messages and openai for Responses. Flags next to it override the preset.",
      ),
    ...profileFlagsSchema.partial().shape,
    efforts: z
      .partialRecord(z.enum(EFFORTS), someText(256))
      .optional()
      .describe(profileFlagsSchema.shape.efforts.description ?? ""),
  },
  must("have preset or single flags"),
);

const bringYourOwnKey = z
  .strictObject(
    {
      provider: z
        .string(must("be the name of a provider"))
        .regex(PROVIDER_NAME, PROVIDER_EXAMPLE)
        .max(PROVIDER_NAME_LENGTH, `must be at most ${PROVIDER_NAME_LENGTH} characters`)
        .describe(
          "Name under which accounts add their key. Backends with the same name and server share the key, across Models.",
        ),
    },
    must("have provider"),
  )
  .describe(
    "Lets accounts bring their own key for the server. Requests of such an account are sent with its key instead of credentialRef, and charged pricing.providerKeyFee instead of the prices.",
  );

/** A server of a Model. */
export const backendResourceSchema = z
  .strictObject(
    {
      name: z
        .string(must("be a string"))
        .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, "must be lower-case letters, digits and -, such as primary")
        .max(63, "must be at most 63 characters")
        .describe("Name of the backend within its Model, in the status and in metrics."),
      protocol: z
        .enum(UPSTREAM_PROTOCOLS, must("be ChatCompletions, Messages or Responses: the protocol of the server at url"))
        .describe("Protocol of the server at url: ChatCompletions, Messages or Responses."),
      platform: z
        .enum(["Bedrock", "VertexAI"], must("be Bedrock or VertexAI"))
        .optional()
        .describe(
          "Cloud whose form of the Messages protocol the server speaks: Bedrock, whose addresses end in /model/…/invoke, or VertexAI, whose addresses end in /publishers/anthropic/models/…:rawPredict; Anthropic's own form if absent.",
        ),
      betas: z
        .array(
          z
            .string(must("be the name of a beta"))
            .regex(/^[a-z0-9][-a-z0-9]*$/, "must be the name of a beta, such as interleaved-thinking-2025-05-14")
            .max(64, "must be at most 64 characters"),
          must("be a list of betas"),
        )
        .max(32, "must have at most 32 entries")
        .optional()
        .describe(
          "Betas of the header anthropic-beta that the server knows: others are not sent. If absent, all are sent, or none to a platform.",
        ),
      url: upstreamUrl.optional(),
      pool: poolReference.optional(),
      upstreamModel: someText(256).optional().describe("Name of the model on the server; the Model's own if absent."),
      weight: z
        .int(must("be a whole number from 0 to 1000000"))
        .min(0, "must be 0 or more")
        .max(1_000_000, "must be at most 1000000")
        .default(1)
        .describe("Share of the traffic among the backends of one priority; 0 gets no traffic."),
      priority: z
        .int(must("be a whole number from 0 to 15"))
        .min(0, "must be 0 or more")
        .max(15, "must be at most 15")
        .default(0)
        .describe("Backends with 0 are used first, higher numbers if those before them fail."),
      credentialRef: secretReference({
        key: "api-key",
        otherwise: must("name a Secret: name, and key if it is not api-key"),
      })
        .optional()
        .describe("Secret in the Model's namespace with the server's API key. Envoy adds it to requests; clients never see it."),
      credentialHeader: credentialHeader.optional(),
      credential: cloudCredential.optional(),
      bringYourOwnKey: bringYourOwnKey.optional(),
      apiVersion: z
        .string(must("be a version such as 2025-04-01-preview"))
        .regex(/^[A-Za-z0-9][-.A-Za-z0-9]*$/, "must be a version such as 2025-04-01-preview")
        .max(64, "must be at most 64 characters")
        .optional()
        .describe(
          "Version of the server's API, sent as the query parameter api-version: Azure's addresses of deployments require it.",
        ),
      tls: serverTls.optional().describe("How the server's certificate is verified. Requires an https url."),
      timeouts: timeouts.optional().describe("Timeouts for the server."),
      profile: profile
        .optional()
        .describe("What the server accepts beyond its protocol's core: a preset, and single flags that override it."),
    },
    must("be a list of backends, each with name, protocol and url or pool"),
  )
  .refine(({ url, pool }) => url !== undefined || pool !== undefined, {
    path: ["url"],
    message: NEEDS_SERVER,
    // Beside the problems of other fields.
    when: ({ value }) => typeof value === "object" && value !== null,
  })
  .refine(({ url, pool }) => url === undefined || pool === undefined, { path: ["pool"], message: TWO_SERVERS })
  .refine(({ platform, pool }) => platform === undefined || pool === undefined, { path: ["platform"], message: NO_POOL })
  .refine(({ credential, pool }) => credential === undefined || pool === undefined, { path: ["credential"], message: NO_POOL })
  .refine(({ apiVersion, pool }) => apiVersion === undefined || pool === undefined, { path: ["apiVersion"], message: NO_POOL })
  .refine(({ protocol, url }) => protocol !== "Messages" || url === undefined || !/\/v1\/*$/.test(url), {
    path: ["url"],
    message: TWO_VERSIONS,
  })
  .refine(({ platform, protocol }) => platform === undefined || protocol === "Messages", {
    path: ["platform"],
    message: NEEDS_MESSAGES,
  })
  .refine(({ betas, protocol }) => betas === undefined || protocol === "Messages", { path: ["betas"], message: NEEDS_MESSAGES })
  .refine(({ tls, url }) => tls === undefined || url?.startsWith("https:") === true, { path: ["tls"], message: NEEDS_HTTPS })
  .refine(({ tls, credential }) => tls === undefined || credential?.google === undefined, { path: ["tls"], message: OWN_TLS })
  .refine(({ credentialHeader, credentialRef }) => credentialHeader === undefined || credentialRef !== undefined, {
    path: ["credentialHeader"],
    message: NEEDS_CREDENTIAL,
  })
  .refine(({ bringYourOwnKey, credentialRef }) => bringYourOwnKey === undefined || credentialRef !== undefined, {
    path: ["bringYourOwnKey"],
    message: NEEDS_CREDENTIAL,
  })
  .refine(({ bringYourOwnKey, pool }) => bringYourOwnKey === undefined || pool === undefined, {
    path: ["bringYourOwnKey"],
    message: NO_POOL,
  })
  .refine(({ credential, credentialRef }) => credential === undefined || credentialRef === undefined, {
    path: ["credential"],
    message: TWO_CREDENTIALS,
  })
  .meta(
    explain("A server that serves the Model.", {
      rules: [
        { rule: "has(self.url) || has(self.pool)", message: NEEDS_SERVER, field: "url" },
        { rule: "!has(self.url) || !has(self.pool)", message: TWO_SERVERS, field: "pool" },
        { rule: "!has(self.platform) || !has(self.pool)", message: NO_POOL, field: "platform" },
        { rule: "!has(self.credential) || !has(self.pool)", message: NO_POOL, field: "credential" },
        { rule: "!has(self.apiVersion) || !has(self.pool)", message: NO_POOL, field: "apiVersion" },
        {
          rule: `self.protocol != "Messages" || !has(self.url) || !self.url.matches("/v1/*$")`,
          message: TWO_VERSIONS,
          field: "url",
        },
        { rule: `!has(self.platform) || self.protocol == "Messages"`, message: NEEDS_MESSAGES, field: "platform" },
        { rule: `!has(self.betas) || self.protocol == "Messages"`, message: NEEDS_MESSAGES, field: "betas" },
        { rule: `!has(self.tls) || (has(self.url) && self.url.startsWith("https:"))`, message: NEEDS_HTTPS, field: "tls" },
        { rule: "!has(self.tls) || !has(self.credential) || !has(self.credential.google)", message: OWN_TLS, field: "tls" },
        { rule: "!has(self.credentialHeader) || has(self.credentialRef)", message: NEEDS_CREDENTIAL, field: "credentialHeader" },
        { rule: "!has(self.bringYourOwnKey) || has(self.credentialRef)", message: NEEDS_CREDENTIAL, field: "bringYourOwnKey" },
        { rule: "!has(self.bringYourOwnKey) || !has(self.pool)", message: NO_POOL, field: "bringYourOwnKey" },
        { rule: "!has(self.credential) || !has(self.credentialRef)", message: TWO_CREDENTIALS, field: "credential" },
      ],
    }),
  );

export type BackendResource = z.infer<typeof backendResourceSchema>;
