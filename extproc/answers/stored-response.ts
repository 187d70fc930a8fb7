import { GatewayError } from "../../contract/errors.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { StoredResponseEndpoint } from "../route/endpoint.ts";
import type { ResponseStore } from "../stored-responses/store.ts";

/** `GET` and `DELETE /v1/responses/{id}`. @throws GatewayError `not_found` for a response that the account has not stored. */
export async function answerStoredResponse(
  { method, id, query }: StoredResponseEndpoint,
  { account: { accountId } }: Caller,
  responses: ResponseStore,
): Promise<Buffer> {
  if (method === "DELETE") {
    await responses.remove(accountId, id);
    return Buffer.from(JSON.stringify({ id, object: "response", deleted: true }));
  }
  if (query.get("stream") === "true")
    throw new GatewayError("invalid_request", "`stream` can't be used: a stored response comes whole. Leave it out.", {
      field: "stream",
    });
  return responses.find(accountId, id);
}
