import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { GatewayError } from "../../contract/errors.ts";

/** The hidden field of every form. */
export const CSRF_FIELD = "form_token";

/**
 * What a form of this session must bring: follows from the session's secret token, which no other site can read. Another
 * one on each page, so that the size of a compressed page tells nothing of it.
 */
export function csrfToken(sessionToken: string, salt = randomBytes(16).toString("base64url")): string {
  return `${salt}.${createHmac("sha256", sessionToken).update(`form ${salt}`).digest("base64url")}`;
}

/**
 * Was the form sent from a page of ours, by this session's browser?
 * @throws GatewayError `permission_denied` when not.
 */
export function checkForm(
  request: FastifyRequest,
  { publicBaseUrl, sessionToken }: { publicBaseUrl: string; sessionToken: string | undefined },
): void {
  if (isForeign(request, publicBaseUrl)) throw new GatewayError("permission_denied", "This form was sent from another site.");
  if (sessionToken === undefined) return;
  const body: unknown = request.body;
  const sent = typeof body === "object" && body !== null && CSRF_FIELD in body ? body[CSRF_FIELD] : undefined;
  if (typeof sent === "string" && isEqual(sent, csrfToken(sessionToken, sent.split(".", 1)[0]))) return;
  throw new GatewayError("permission_denied", "This page is too old: go back, load it again and send it once more.");
}

/** Every browser of today sends one of the headers with a form; a tool that sends neither has no cookies of a victim's. */
function isForeign({ headers: { origin, "sec-fetch-site": site } }: FastifyRequest, publicBaseUrl: string): boolean {
  if (origin !== undefined) return origin !== new URL(publicBaseUrl).origin;
  return site !== undefined && site !== "same-origin" && site !== "none";
}

/** Has a browser said that a page of ours sent this? */
export function isFromOwnPage({ headers }: FastifyRequest, publicBaseUrl: string): boolean {
  const { origin, "sec-fetch-site": site } = headers;
  return origin === undefined ? site === "same-origin" : origin === new URL(publicBaseUrl).origin;
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
