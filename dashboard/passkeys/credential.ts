import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";

/** The content of a browser's `PublicKeyCredential.toJSON()`. Extensions are neither requested nor read. */

const base64url = z.string().regex(/^[\w-]+$/);
const credentialId = base64url.max(1364);
const credential = { id: credentialId, rawId: credentialId, type: z.literal("public-key") };

const registrationSchema = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url,
    attestationObject: base64url,
    // Only returned to the browser, so unknown values are passed on.
    transports: z.array(z.string().max(40)).max(10).default([]),
  }),
});

const authenticationSchema = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: base64url.nullish(),
  }),
});

interface ReadRegistration {
  response: RegistrationResponseJSON;
  transports: readonly string[];
}

export function readRegistration(text: string): ReadRegistration {
  const { response, ...rest } = read(registrationSchema, text);
  const { transports, ...attestation } = response;
  return { response: { ...rest, response: attestation, clientExtensionResults: {} }, transports };
}

/** @returns userHandle: the owner of the passkey according to the authenticator; null if it does not say. */
export function readAuthentication(text: string): { response: AuthenticationResponseJSON; userHandle: Buffer | null } {
  const { response, ...rest } = read(authenticationSchema, text);
  const { userHandle, ...assertion } = response;
  return {
    response: { ...rest, response: assertion, clientExtensionResults: {} },
    userHandle: userHandle == null ? null : Buffer.from(userHandle, "base64url"),
  };
}

function read<T>(schema: z.ZodType<T>, text: string): T {
  const parsed = schema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new GatewayError(
    "invalid_request",
    "Your browser sent no passkey. Allow scripts on this page, and try again with a current browser.",
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
