import { promptTokensOf } from "../../contract/usage.ts";
import { operationOf, SPAN_METADATA, type SpanAttribute } from "../../contract/span-attributes.ts";
import type { Exchange, ExchangeFacts } from "./exchange.ts";
import { withMetadata, type Reply } from "../reply.ts";

type Push = (reply: Reply) => void;

/** An exchange that sends Envoy the request's span attributes along with its answers, whenever they change. */
export function createTracedExchange(create: (push: Push) => Exchange, push: Push): Exchange {
  let reported = "";
  const exchange = create((reply) => push(annotate(reply)));

  function annotate(reply: Reply): Reply {
    const facts = exchange.facts();
    const news = `${facts.backend} ${facts.errorCode} ${facts.settlement?.outcome}`;
    if (news === reported) return reply;
    reported = news;
    return withMetadata(reply, SPAN_METADATA, spanAttributes(facts));
  }

  const annotateLater = (answered: Reply | Promise<Reply>) =>
    answered instanceof Promise ? answered.then(annotate) : annotate(answered);

  const annotateIfAny = (answered: Reply | undefined) => (answered === undefined ? undefined : annotate(answered));

  return {
    requestHeaders: (headers, isEnd) => annotateLater(exchange.requestHeaders(headers, isEnd)),
    requestBody: (body) => annotateLater(exchange.requestBody(body)),
    responseHeaders: (headers, how) => annotate(exchange.responseHeaders(headers, how)),
    responseBody: (body, isEnd) => annotateIfAny(exchange.responseBody(body, isEnd)),
    responseTrailers: (names) => annotateIfAny(exchange.responseTrailers(names)),
    facts: exchange.facts,
    load: exchange.load,
    closed: exchange.closed,
  };
}

function spanAttributes({ requestId, protocol, model, backend, errorCode, settlement }: ExchangeFacts) {
  const attributes: Partial<Record<SpanAttribute, string>> = {
    "gateway.request_id": requestId,
    "gateway.interface": protocol,
  };
  if (errorCode !== null) attributes["error.type"] = errorCode;
  if (model !== null && backend !== null) {
    attributes["gen_ai.operation.name"] = operationOf(protocol);
    attributes["gen_ai.request.model"] = model;
    attributes["gen_ai.provider.name"] = backend;
  }
  if (settlement !== null) {
    const { usage } = settlement;
    attributes["gateway.outcome"] = settlement.outcome;
    // The conventions count cache reads as input.
    attributes["gen_ai.usage.input_tokens"] = String(promptTokensOf(usage));
    attributes["gen_ai.usage.output_tokens"] = String(usage.outputTokens);
  }
  return attributes;
}
