import { SPAN_METADATA, type SpanAttribute } from "../contract/span-attributes.ts";
import type { ProcessingResponse } from "../runtime/gen/envoy/service/ext_proc/v3/external_processor_pb.js";
import type { Exchange, ExchangeFacts } from "./exchange.ts";

type Push = (response: ProcessingResponse) => void;

/** An exchange that tells Envoy beside its answers what the request's spans are to say, whenever there is news of it. */
export function createTracedExchange(create: (push: Push) => Exchange, push: Push): Exchange {
  let told = "";
  const exchange = create((response) => push(tell(response)));

  function tell(response: ProcessingResponse): ProcessingResponse {
    const facts = exchange.facts();
    const news = `${facts.backend} ${facts.errorCode} ${facts.settlement?.outcome}`;
    if (news === told) return response;
    told = news;
    response.dynamicMetadata = { [SPAN_METADATA]: spanAttributes(facts) };
    return response;
  }

  const tellLater = (answered: ProcessingResponse | Promise<ProcessingResponse>) =>
    answered instanceof Promise ? answered.then(tell) : tell(answered);

  return {
    requestHeaders: (headers, isEnd) => tellLater(exchange.requestHeaders(headers, isEnd)),
    requestBody: (body) => tellLater(exchange.requestBody(body)),
    responseHeaders: (headers, how) => tell(exchange.responseHeaders(headers, how)),
    responseBody: (body, isEnd) => tell(exchange.responseBody(body, isEnd)),
    facts: exchange.facts,
    closed: exchange.closed,
  };
}

function spanAttributes({ requestId, protocol, model, backend, errorCode, settlement }: ExchangeFacts) {
  const attributes: Partial<Record<SpanAttribute, string | number>> = {
    "gateway.request_id": requestId,
    "gateway.interface": protocol,
  };
  if (errorCode !== null) attributes["error.type"] = errorCode;
  if (model !== null && backend !== null) {
    attributes["gen_ai.operation.name"] = "chat";
    attributes["gen_ai.request.model"] = model;
    attributes["gen_ai.provider.name"] = backend;
  }
  if (settlement !== null) {
    const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens } = settlement.usage;
    attributes["gateway.outcome"] = settlement.outcome;
    // The conventions count what was read from a cache as input.
    attributes["gen_ai.usage.input_tokens"] = inputTokens + cachedInputTokens + cacheWriteTokens;
    attributes["gen_ai.usage.output_tokens"] = outputTokens;
  }
  return attributes;
}
