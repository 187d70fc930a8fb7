import type { FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import { GatewayError, toGatewayError, type ErrorCode } from "../../contract/errors.ts";
import { databaseAway } from "../../ledger/postgres/away.ts";
import type { Logger } from "../../runtime/log.ts";
import type { ApiError } from "./schemas/error.ts";
import { fieldOf } from "./validation.ts";

/** Any failure as JSON: the caller gets a message for errors that they can act on, and "something failed" otherwise. */
export function answerApiError({
  error,
  request,
  reply,
  log,
}: {
  error: unknown;
  request: FastifyRequest;
  reply: FastifyReply;
  log: Logger;
}) {
  const known = toApiError({ error, request, log });
  const body: ApiError = { error: { type: typeOf(known.code), message: known.message, field: known.field } };
  return (
    reply
      .status(known.status)
      .headers({ ...known.headers, "x-request-id": request.id })
      .type("application/json; charset=utf-8")
      // Sent directly, so that no schema of the route can prevent the error.
      .serializer((payload: unknown) => JSON.stringify(payload))
      .send(body)
  );
}

/** What the caller gets to know of a failure; others are logged. */
export function toApiError({ error, request, log }: { error: unknown; request: FastifyRequest; log: Logger }): GatewayError {
  const known = knownError(error);
  if (known.status >= 500)
    log.error({ err: error, requestId: request.id, route: request.routeOptions.url }, "internal error in the management API");
  return known;
}

function typeOf(code: ErrorCode): string {
  return code === "invalid_api_key" ? "unauthenticated" : code;
}

function knownError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  // The framework adds where it was: any other error of zod's is ours.
  if (error instanceof z.ZodError && "validationContext" in error) {
    const [first] = error.issues;
    const field = first === undefined ? "" : fieldOf(first);
    return new GatewayError("invalid_request", first?.message ?? "The request could not be read.", {
      ...(field === "" ? {} : { field }),
      cause: error,
    });
  }
  return fromFastify(error) ?? databaseAway(error) ?? toGatewayError(error);
}

const UNREADABLE: Readonly<Record<number, string>> = {
  413: "The body is too large.",
  415: "Send the body as JSON, with `content-type: application/json`.",
};

/** The framework's own refusals. */
function fromFastify(error: unknown): GatewayError | undefined {
  if (!(error instanceof Error) || !("statusCode" in error) || typeof error.statusCode !== "number") return undefined;
  const { statusCode } = error;
  if (statusCode < 400 || statusCode >= 500) return undefined;
  const message = UNREADABLE[statusCode] ?? "The body is not valid JSON.";
  return new GatewayError("invalid_request", message, { status: statusCode, cause: error });
}
