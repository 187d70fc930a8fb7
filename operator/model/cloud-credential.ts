import * as z from "zod";
import { explain } from "../crd/explain.ts";
import { must } from "./field-message.ts";
import { secretName, secretReference } from "./secret-reference.ts";
import { tokenUrl } from "./upstream-url.ts";

/** Keys of an AWS Secret. */
export const AWS_KEYS = { id: "access-key-id", secret: "secret-access-key", session: "session-token" } as const;

const REGION = "must be a region such as us-east-1";
const SERVICE = "must be the name with which requests are signed, such as bedrock";

const aws = z
  .strictObject(
    {
      region: z
        .string(must("be a region such as us-east-1"))
        .regex(/^[a-z]{2,}(-[a-z]+)+-[0-9]+$/, REGION)
        .max(64, "must be at most 64 characters")
        .describe("Region of the server, such as us-east-1."),
      service: z
        .string(must("be the name with which requests are signed, such as bedrock"))
        .regex(/^[a-z0-9][-a-z0-9]*$/, SERVICE)
        .max(64, "must be at most 64 characters")
        .default("bedrock")
        .describe("Service for which requests are signed."),
      secretRef: z
        .strictObject({ name: secretName }, must("name a Secret"))
        .optional()
        .describe(
          `Secret in the Model's namespace with ${AWS_KEYS.id} and ${AWS_KEYS.secret}, and with ${AWS_KEYS.session} if the key is temporary. If absent, Envoy uses the identity of the gateway's pods.`,
        ),
    },
    must("have region"),
  )
  .describe("AWS: Envoy signs each request (Signature Version 4), as Bedrock requires.");

const oauth = z
  .strictObject(
    {
      tokenUrl,
      clientId: z
        .string(must("be the client's id"))
        .regex(/^[!-~]+$/, "must be printable text without spaces")
        .max(256, "must be at most 256 characters")
        .describe("ID of the client."),
      secretRef: secretReference({ key: "client-secret" }).describe(
        "Secret in the Model's namespace with the client's secret. Only Envoy sends it, to tokenUrl.",
      ),
      scopes: z
        .array(
          z
            .string(must("be text"))
            .regex(/^[!-~]+$/, "must be printable text without spaces")
            .max(256, "must be at most 256 characters"),
          must("be a list of scopes"),
        )
        .max(16, "must have at most 16 entries")
        .default([])
        .describe("Scopes of the token."),
    },
    must("have tokenUrl, clientId and secretRef"),
  )
  .describe("OAuth 2: Envoy fetches a token with a client's credentials, renews it in time, and sends it as a bearer token.");

const google = z
  .strictObject({}, must("be {}"))
  .describe(
    "Google Cloud: Envoy gets access tokens of the identity of the gateway's pods from the metadata server, renews them in time, and sends them to Vertex AI. Excludes tls.",
  );

const ONE_KIND = "must have exactly one of aws, google and oauth";

/** How Envoy proves the gateway's identity to servers that take no fixed key. */
export const cloudCredential = z
  .strictObject({ aws: aws.optional(), google: google.optional(), oauth: oauth.optional() }, must("have aws, google or oauth"))
  .refine((kinds) => Object.values(kinds).filter((kind) => kind !== undefined).length === 1, ONE_KIND)
  .meta(
    explain("A credential in place of a fixed key, of one kind. Excludes credentialRef.", {
      rules: [{ rule: "[has(self.aws), has(self.google), has(self.oauth)].exists_one(isGiven, isGiven)", message: ONE_KIND }],
    }),
  );

export type CloudCredential = z.infer<typeof cloudCredential>;

/** Names of the Secrets that it uses. */
export function secretsOf({ aws, oauth }: CloudCredential = {}): string[] {
  return [aws?.secretRef, oauth?.secretRef].flatMap((reference) => (reference === undefined ? [] : [reference.name]));
}
