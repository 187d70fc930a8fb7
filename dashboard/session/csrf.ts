import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { GatewayError } from "../../contract/errors.ts";

/** The hidden field of every form. */
export const CSRF_FIELD = "form_token";

/**
 * The token that a form of this session must send: derived from the session's secret token, which no other site can read, and
 * from the account that its page showed. It differs on each page, so that the size of a compressed page does not reveal it.
 */
export function csrfToken(sessionToken: string, accountId: string, salt = randomBytes(16).toString("base64url")): string {
  const mac = createHmac("sha256", sessionToken).update(`form ${salt} ${accountId}`).digest("base64url");
  return `${salt}.${accountId}.${mac}`;
}

interface FormSession {
  token: string;
  /** The account in view. */
  accountId: string;
}

/**
 * Whether the form was sent from one of our pages, by this session's browser, about the account in view now. Another account may
 * have been selected in another tab since.
 * @throws GatewayError `permission_denied` if not.
 */
export function checkForm(
  request: FastifyRequest,
  { publicBaseUrl, session }: { publicBaseUrl: string; session: FormSession | undefined },
): void {
  if (isForeign(request, publicBaseUrl))
    throw new GatewayError("permission_denied", "This form was submitted from another site.");
  if (session === undefined) return;
  const body: unknown = request.body;
  const sent = typeof body === "object" && body !== null && CSRF_FIELD in body ? body[CSRF_FIELD] : undefined;
  const [salt = "", accountId = ""] = typeof sent === "string" ? sent.split(".") : [];
  const isOurs = typeof sent === "string" && isEqual(sent, csrfToken(session.token, accountId, salt));
  if (isOurs && (accountId === session.accountId || request.routeOptions.config.isPersonal === true)) return;
  if (isOurs)
    throw new GatewayError(
      "permission_denied",
      "Nothing was changed: this form belongs to another account. Switch to that account in the menu, then try again.",
    );
  throw new GatewayError("permission_denied", "This page has expired. Go back, reload it and try again.");
}

/** Every current browser sends one of the headers with a form; a tool that sends neither has no cookies of a victim. */
function isForeign({ headers: { origin, "sec-fetch-site": site } }: FastifyRequest, publicBaseUrl: string): boolean {
  if (origin !== undefined) return origin !== new URL(publicBaseUrl).origin;
  return site !== undefined && site !== "same-origin" && site !== "none";
}

/** Whether the browser states that one of our pages sent this. */
export function isFromOwnPage({ headers }: FastifyRequest, publicBaseUrl: string): boolean {
  const { origin, "sec-fetch-site": site } = headers;
  return origin === undefined ? site === "same-origin" : origin === new URL(publicBaseUrl).origin;
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
