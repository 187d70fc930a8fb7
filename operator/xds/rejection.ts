/** Fields with secrets in what the operator sends: of aws-signing.ts, and of secret.ts. */
const SECRET_FIELD = /\b(secret_access_key|session_token|inline_string|inline_bytes): *"(?:[^"\\]|\\.)*(?:"|$)/g;

/** Envoy's message about a resource that it rejects, without secrets: it may quote the whole resource. */
export function withoutSecrets(message: string): string {
  return message.replaceAll(SECRET_FIELD, '$1: "…"');
}
