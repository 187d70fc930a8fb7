import type { BackendResource } from "./backend-resource.ts";

/** Of a key in a header. */
export type CredentialForm = "bearer" | "plain";

/** The header in which a server expects its key. */
export function credentialHeaderOf({
  protocol,
  credentialHeader: given,
}: Pick<BackendResource, "protocol" | "credentialHeader">): { name: string; form: CredentialForm } {
  const name = given ?? USUAL[protocol];
  return { name, form: name === "authorization" ? "bearer" : "plain" };
}

/** The header's whole value. */
export function headerValueOf(form: CredentialForm, key: string): string {
  return form === "bearer" ? `Bearer ${key}` : key;
}

const USUAL = {
  ChatCompletions: "authorization",
  Responses: "authorization",
  Messages: "x-api-key",
} as const satisfies Record<BackendResource["protocol"], string>;
