import { GatewayError } from "../../../contract/errors.ts";
import { UPSTREAM_PATHS } from "../../../contract/protocol.ts";
import { write } from "../../protocol/json/splice.ts";
import { leaveUnknownReasoning } from "../passthrough/own-reasoning.ts";
import { refuseStored } from "../responses/stored.ts";
import { estimateResponsesTokens } from "./estimate.ts";
import { readCount, refusedCount, type TokenCount, type TokenCountInput } from "./token-count.ts";

/**
 * `POST /v1/responses/input_tokens`: a Responses server counts itself, with bytes unchanged except for the model's name and
 * reasoning that it does not know; for the others, and for servers that only have responses, the gateway estimates.
 * @throws GatewayError `invalid_request` for a request without input, and for input that is stored elsewhere.
 */
export function createResponsesCount({ body, backend }: Omit<TokenCountInput, "headers">): TokenCount {
  const { input } = body.outline;
  if (typeof input !== "string" && !(Array.isArray(input) && input.length > 0))
    throw new GatewayError("invalid_request", "`input` is missing. Send a string, or an array with at least one item.", {
      field: "input",
    });
  refuseStored(body.outline);
  const counted = (tokens: number) => ({ object: "response.input_tokens", input_tokens: tokens }) as const;
  const estimate = () => counted(estimateResponsesTokens(body.whole()));
  return {
    upstream:
      backend.protocol === "responses"
        ? {
            path: `${UPSTREAM_PATHS.responses}/input_tokens`,
            body: body.edit({ model: write(backend.upstreamModel), input: leaveUnknownReasoning(backend.profile) }),
            headers: {},
          }
        : null,
    answer(status, answer) {
      if (status === 400) throw refusedCount(answer, { backend, client: "responses" });
      const count = status === 200 ? readCount(answer) : undefined;
      return count === undefined ? estimate() : counted(count.input_tokens);
    },
    estimate,
  };
}
