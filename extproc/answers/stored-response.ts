import { GatewayError } from "../../contract/errors.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { StoredResponseEndpoint } from "../route/endpoint.ts";
import type { ResponseStore } from "../stored-responses/store.ts";
import { listInputItems } from "./stored-input-items.ts";

/** `GET` and `DELETE /v1/responses/{id}`, and `GET /v1/responses/{id}/input_items`. @throws GatewayError `not_found` for a response that the account has not stored. */
export async function answerStoredResponse(
  { method, part, id, query }: StoredResponseEndpoint,
  { account: { accountId } }: Caller,
  responses: ResponseStore,
): Promise<Buffer> {
  if (method === "DELETE") {
    await responses.remove(accountId, id);
    return Buffer.from(JSON.stringify({ id, object: "response", deleted: true }));
  }
  if (part === "response" && query.get("stream") === "true")
    throw new GatewayError("invalid_request", "`stream` is not supported for stored responses. Leave it out.", {
      field: "stream",
    });
  if (part === "input_items") return listInputItems(id, await responses.findInput(accountId, id), query);
  return responses.find(accountId, id);
}
