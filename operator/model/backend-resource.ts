import * as z from "zod";
import { PROFILE_NAMES, profileSchema } from "../../contract/profile.ts";
import { explain } from "../crd/explain.ts";
import { durationSchema } from "./duration.ts";
import { must } from "./field-message.ts";
import { secretReference } from "./secret-reference.ts";
import { upstreamUrl } from "./upstream-url.ts";

/** What servers speak, as manifests name it. */
export const UPSTREAM_PROTOCOLS = ["ChatCompletions", "Messages", "Responses"] as const;
/** What clients may speak: each interface reaches servers of every protocol. */
export const INTERFACES = [...UPSTREAM_PROTOCOLS] as const;

const TWO_VERSIONS = "must end before /v1 for protocol Messages; the gateway appends /v1/messages";
const NEEDS_HTTPS = "needs an https url";

const tls = z.strictObject(
  {
    serverName: z
      .string(must("be a host name"))
      .min(1, "must not be empty")
      .max(253, "must be at most 253 characters")
      .optional()
      .describe("Name that the server's certificate must hold, and that is sent as SNI. The url's host where absent."),
    caSecretRef: secretReference({ key: "ca.crt" })
      .optional()
      .describe("Secret in the Model's namespace with the authority's certificates, PEM. The public authorities where absent."),
  },
  must("hold serverName or caSecretRef"),
);

export function connectTimeout(description: string) {
  return durationSchema({ minimumMs: 100, maximumMs: 60_000, claim: "from 100ms to 60s", description });
}

const timeouts = z.strictObject(
  { connect: connectTimeout("To open a connection: from 100ms to 60s. The Model's where absent.").optional() },
  must("hold connect"),
);

const profile = z.strictObject(
  {
    preset: z
      .enum(PROFILE_NAMES, must(`be one of ${PROFILE_NAMES.join(", ")}`))
      .optional()
      .describe("The kind of server; generic where absent. Flags beside it differ from the preset."),
    ...profileSchema.partial().shape,
  },
  must("hold preset or single flags"),
);

/** One server that answers for a Model. */
export const backendResourceSchema = z
  .strictObject(
    {
      name: z
        .string(must("be a string"))
        .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, "must be lower-case letters, digits and -, such as primary")
        .max(63, "must be at most 63 characters")
        .describe("Names the backend within its Model, in the status and in metrics."),
      protocol: z
        .enum(UPSTREAM_PROTOCOLS, must("be ChatCompletions, Messages or Responses: what the server behind url speaks"))
        .describe("What the server behind url speaks: ChatCompletions, Messages or Responses."),
      url: upstreamUrl,
      upstreamModel: z
        .string(must("be a string"))
        .min(1, "must not be empty")
        .max(256, "must be at most 256 characters")
        .optional()
        .describe("The model's name at the server; the Model's own where absent."),
      weight: z
        .int(must("be a whole number from 0 to 1000000"))
        .min(0, "must be 0 or more")
        .max(1_000_000, "must be at most 1000000")
        .default(1)
        .describe("Share of the traffic among the backends of one priority; 0 takes none."),
      priority: z
        .int(must("be a whole number from 0 to 15"))
        .min(0, "must be 0 or more")
        .max(15, "must be at most 15")
        .default(0)
        .describe("0 is used first; the others are for when those before them fail."),
      credentialRef: secretReference({
        key: "api-key",
        otherwise: must("name a Secret: name, and key if it is not api-key"),
      })
        .optional()
        .describe("Secret in the Model's namespace with the key that the server wants. Envoy adds it; no client ever sees it."),
      tls: tls.optional().describe("How the server is recognised. Needs an https url."),
      timeouts: timeouts.optional().describe("How long the gateway waits for the server."),
      profile: profile
        .optional()
        .describe("What the server accepts beyond its protocol's core: a preset, and single flags that differ from it."),
    },
    must("be a list of backends, each with name, protocol and url"),
  )
  .refine(({ protocol, url }) => protocol !== "Messages" || !/\/v1\/*$/.test(url), { path: ["url"], message: TWO_VERSIONS })
  .refine(({ tls, url }) => tls === undefined || url.startsWith("https:"), { path: ["tls"], message: NEEDS_HTTPS })
  .meta(
    explain("One server that answers for the Model.", {
      rules: [
        { rule: `self.protocol != "Messages" || !self.url.matches("/v1/*$")`, message: TWO_VERSIONS, field: "url" },
        { rule: `!has(self.tls) || self.url.startsWith("https:")`, message: NEEDS_HTTPS, field: "tls" },
      ],
    }),
  );

export type BackendResource = z.infer<typeof backendResourceSchema>;
