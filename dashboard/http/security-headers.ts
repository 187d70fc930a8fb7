import type { FastifyInstance, FastifyReply } from "fastify";

/** Scripts and styles are our own files: nothing inline runs, so markup that slipped into a name has no effect. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const YEAR_SECONDS = 365 * 24 * 60 * 60;

/** On every answer, including errors. */
export function setSecurityHeaders(app: FastifyInstance, { publicBaseUrl }: { publicBaseUrl: string }): void {
  const isSecure = publicBaseUrl.startsWith("https:");
  app.addHook("onRequest", async (_request, reply) => {
    reply.headers({
      "content-security-policy": POLICY,
      "x-content-type-options": "nosniff",
      "referrer-policy": "same-origin",
      "cross-origin-opener-policy": "same-origin",
      // Pages contain personal data. Assets set their own.
      "cache-control": "no-store",
      ...(isSecure ? { "strict-transport-security": `max-age=${YEAR_SECONDS}` } : {}),
    });
  });
}

/** Browsers apply a page's policy to the redirect of its form, too. null: no other target. */
export function allowFormsTo(reply: FastifyReply, origin: string | null): void {
  if (origin !== null)
    reply.header("content-security-policy", POLICY.replace("form-action 'self'", `form-action 'self' ${origin}`));
}
