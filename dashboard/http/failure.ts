import type { FastifyReply, FastifyRequest } from "fastify";
import { GatewayError, toGatewayError } from "../../contract/errors.ts";
import { databaseAway } from "../../ledger/postgres/away.ts";
import type { Logger } from "../../runtime/log.ts";
import { DeadLink } from "./dead-link.ts";
import { readForm } from "./form.ts";
import type { Methods } from "./methods.ts";
import { pageOfForm } from "../session/draft.ts";
import { FreshSignInNeeded } from "../session/fresh.ts";
import { NO_SUCH_PAGE, SecondFactorNeeded, SignInNeeded } from "../session/guard.ts";
import { failurePage } from "../views/failure.ts";

/** Any failure as a page: the visitor gets a message for errors that they can act on, and "something failed" otherwise. */
export function answerError({
  error,
  request,
  reply,
  log,
  publicBaseUrl,
  support,
}: {
  error: unknown;
  request: FastifyRequest;
  reply: FastifyReply;
  log: Logger;
  publicBaseUrl: string;
  support: string | undefined;
}) {
  if (error instanceof SignInNeeded) {
    // A form leads back to its page, with its input: its own address cannot be opened.
    const page = request.method === "GET" ? request.url : pageOfForm(request, publicBaseUrl);
    keepDraft(request, page);
    return reply.redirect(`/dashboard/sign-in?next=${encodeURIComponent(page)}`, 303);
  }
  if (error instanceof FreshSignInNeeded) {
    keepDraft(request, error.next);
    return reply.redirect(`/dashboard/confirm-identity?next=${encodeURIComponent(error.next)}`, 303);
  }
  if (error instanceof SecondFactorNeeded) return reply.redirect(secondFactorPath(request), 303);
  const known = error instanceof GatewayError ? error : (fromFastify(error) ?? databaseAway(error) ?? unexpected(error));
  if (known.status >= 500)
    log.error({ err: error, requestId: request.id, route: request.routeOptions.url }, "internal error on a page");
  return reply
    .status(known.status)
    .headers({ ...known.headers })
    .type("text/html; charset=utf-8")
    .send(
      failurePage({
        ...viewOf(request, publicBaseUrl),
        status: known.status,
        message: known.message,
        retryAfterSeconds: secondsIn(known.headers["retry-after"]),
        support,
        ...(known instanceof DeadLink ? { renewal: known.renewal } : {}),
      }),
    );
}

/** What was typed is shown again once its person has signed in, or proved who they are. @param page that has the form. */
function keepDraft(request: FastifyRequest, page: string): void {
  if (request.method === "POST") request.draft = { page, action: request.url, fields: readForm(request) };
}

/** People with a second factor use it; others set one up. */
function secondFactorPath({ visitor, method, url }: FastifyRequest): string {
  if (visitor?.person.hasSecondFactor !== true) return "/dashboard/settings/second-factor";
  return `/dashboard/confirm-identity?next=${encodeURIComponent(method === "GET" ? url : "/dashboard")}`;
}

export function answerNotFound({
  request,
  reply,
  methods,
  publicBaseUrl,
  support,
}: {
  request: FastifyRequest;
  reply: FastifyReply;
  methods: Methods;
  publicBaseUrl: string;
  support: string | undefined;
}) {
  const page = pageAboveForm(request, methods);
  if (page !== undefined) return reply.redirect(page, 303);
  const failed = { ...viewOf(request, publicBaseUrl), status: 404, message: NO_SUCH_PAGE, retryAfterSeconds: null, support };
  return reply.status(404).type("text/html; charset=utf-8").send(failurePage(failed));
}

/** The address bar shows a form's own address while the form is shown again with its errors. To open that leads to its page. */
function pageAboveForm({ method, url }: FastifyRequest, methods: Methods): string | undefined {
  if (method !== "GET" || !methods.of(url).includes("POST")) return undefined;
  const [address = ""] = url.split("?", 1);
  let page = address;
  do page = page.slice(0, page.lastIndexOf("/"));
  while (page !== "" && !methods.of(page).includes("GET"));
  return page === "" ? undefined : page;
}

function viewOf(request: FastifyRequest, publicBaseUrl: string) {
  const { visitor, id: requestId, method, url } = request;
  return { visitor, requestId, method, page: method === "GET" ? url : pageOfForm(request, publicBaseUrl) };
}

function secondsIn(header: string | undefined): number | null {
  return header === undefined || !/^\d{1,9}$/.test(header) ? null : Number(header);
}

/** For people; the cause is logged. */
function unexpected(error: unknown): GatewayError {
  return new GatewayError("internal_error", "This page failed because of an error on our side, which we have logged.", {
    cause: toGatewayError(error),
  });
}

/** The framework's own errors: a form that is too large, or not a form at all. */
function fromFastify(error: unknown): GatewayError | undefined {
  if (!(error instanceof Error) || !("statusCode" in error) || typeof error.statusCode !== "number") return undefined;
  if (error.statusCode < 400 || error.statusCode >= 500) return undefined;
  return new GatewayError("invalid_request", "This form could not be read.", { status: error.statusCode, cause: error });
}
