import * as z from "zod";
import { must } from "./field-message.ts";
import { secretName } from "./secret-reference.ts";

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

/** How Envoy proves the gateway's identity to servers that take no fixed key. */
export const cloudCredential = z
  .strictObject({ aws }, must("have aws"))
  .describe("A credential in place of a fixed key. Excludes credentialRef.");

export type CloudCredential = z.infer<typeof cloudCredential>;

/** Names of the Secrets that it uses. */
export function secretsOf(credential: CloudCredential | undefined): string[] {
  return credential?.aws.secretRef === undefined ? [] : [credential.aws.secretRef.name];
}
