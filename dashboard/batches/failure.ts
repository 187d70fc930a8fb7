import type { FastifyReply, FastifyRequest } from "fastify";
import { encodeError, GatewayError, toGatewayError } from "../../contract/errors.ts";
import { HEADERS } from "../../contract/headers.ts";
import { hasVersion } from "../../contract/messages-version.ts";
import type { Dialect } from "../../contract/protocol.ts";
import { databaseAway } from "../../ledger/postgres/away.ts";
import type { Logger } from "../../runtime/log.ts";

/** Any failure in the caller's protocol, as extproc would answer it. */
export function answerBatchError(
  error: unknown,
  { request, reply, log }: { request: FastifyRequest; reply: FastifyReply; log: Logger },
) {
  const dialect = dialectOf(request);
  const known = error instanceof GatewayError ? error : (fromFramework(error) ?? databaseAway(error) ?? toGatewayError(error));
  if (known.status >= 500)
    log.error(
      { err: error, requestId: request.id, route: request.routeOptions.url },
      "internal error in an endpoint for batches",
    );
  return reply
    .status(known.status)
    .headers({ ...known.headers, ...idHeaders(request) })
    .type("application/json")
    .send(JSON.stringify(encodeError(dialect, known, request.id)));
}

export function idHeaders({ id }: FastifyRequest): Record<string, string> {
  return { [HEADERS.requestId]: id, [HEADERS.requestIdMessages]: id };
}

/** As extproc decides it: by the path, or by a version header of the Messages interface. */
function dialectOf(request: FastifyRequest): Dialect {
  return isOfMessages(request) || hasVersion(headerOf(request)) ? "messages" : "chat";
}

/** Whether the path is one of the Messages interface. */
export function isOfMessages({ url }: FastifyRequest): boolean {
  return url.startsWith("/v1/messages/");
}

export function headerOf({ headers }: FastifyRequest): (name: string) => string | undefined {
  return (name) => headers[name]?.toString();
}

/** The framework's own refusals. */
function fromFramework(error: unknown): GatewayError | undefined {
  if (!(error instanceof Error) || !("statusCode" in error) || typeof error.statusCode !== "number") return undefined;
  const { statusCode } = error;
  if (statusCode < 400 || statusCode >= 500) return undefined;
  if (statusCode === 413) return new GatewayError("request_too_large", "The body is too large.", { cause: error });
  const message =
    statusCode === 415
      ? "This content type is not supported. Send JSON, or a file as multipart/form-data."
      : "The body is not valid JSON.";
  return new GatewayError("invalid_request", message, { cause: error });
}
