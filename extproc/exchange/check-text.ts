import { GatewayError } from "../../contract/errors.ts";
import { encodeCheck, MAX_CHECKED_BYTES, type Judgement } from "../guardrails/guardrails.ts";
import { guardrailUnavailable, requestRefused } from "../guardrails/refusals.ts";
import { textsOf } from "../guardrails/texts.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import type { WorldModel } from "../world/world.ts";
import type { ExchangeContext } from "./context.ts";

export interface TextCheck {
  body: RequestBody;
  model: WorldModel;
  accountId: string;
  /** Bytes that are reserved for the request itself. */
  heldBytes: number;
}

/**
 * Has the Model's hook check the text of a request, if it has one.
 * @returns null if there is nothing to check.
 * @throws GatewayError, or rejects with one, to refuse the request.
 */
export function checkText(context: ExchangeContext, { body, model, accountId, heldBytes }: TextCheck): Promise<void> | null {
  const { guardrail } = model;
  if (guardrail === undefined || guardrail.requests === false) return null;
  const { deps, requestId, protocol } = context;
  const texts = textsOf(body, protocol);
  if (texts.length === 0) return null;
  const encoded = encodeCheck(
    guardrail,
    texts.map(({ text }) => text),
  );
  if (encoded === null)
    throw new GatewayError(
      "request_too_large",
      `This model's requests are checked, and this one has more than ${MAX_CHECKED_BYTES / 1024 / 1024} MiB of text. Send less of it.`,
    );
  context.heldBytes?.reserve(heldBytes + encoded.length);
  const left = new AbortController();
  context.closers.push(() => left.abort());
  const checked = deps.guardrails.check({
    requestId,
    accountId,
    model: model.name,
    guardrail,
    part: "request",
    texts: texts.length,
    body: encoded,
    left: left.signal,
  });
  const fields = texts.map(({ field }) => field);
  return passOrRefuse(
    checked.finally(() => context.heldBytes?.resize(heldBytes)),
    fields,
  );
}

async function passOrRefuse(checked: Promise<Judgement>, fields: readonly string[]): Promise<void> {
  const judgement = await checked;
  switch (judgement.kind) {
    case "passed":
      return;
    case "refused":
      throw requestRefused(judgement, fields);
    case "unavailable":
      throw guardrailUnavailable("request");
  }
}
