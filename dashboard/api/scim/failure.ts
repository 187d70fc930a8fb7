import type { FastifyReply, FastifyRequest } from "fastify";
import type { GatewayError } from "../../../contract/errors.ts";
import type { Logger } from "../../../runtime/log.ts";
import { toApiError } from "../failure.ts";

export const SCIM_TYPE = "application/scim+json; charset=utf-8";

/** Any failure as RFC 7644, 3.12, has it. */
export function answerScimError({
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
  const type = scimTypeOf(known);
  return reply
    .status(known.status)
    .headers({ ...known.headers, "x-request-id": request.id })
    .type(SCIM_TYPE)
    .send(
      JSON.stringify({
        schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
        status: String(known.status),
        ...(type !== undefined && { scimType: type }),
        detail: known.message,
      }),
    );
}

function scimTypeOf({ status, field }: GatewayError): string | undefined {
  if (status === 409) return "uniqueness";
  if (status !== 400) return undefined;
  return field === "filter" ? "invalidFilter" : "invalidValue";
}
