import type { Backend } from "../../../contract/catalogue.ts";
import type { TranslationInput } from "../translation.ts";

export const BETA_HEADER = "anthropic-beta";

type Headers = Readonly<Record<string, string>>;

/** Above this many tokens a prompt costs more at its provider, for models that accept more only with a beta. */
const PRICED_WINDOW = 200_000;
const LONG_CONTEXT = /^context-\d+m/;

/** Without the betas that the server does not know: some refuse the whole request for one. */
export function knownBetas(headers: Headers, { betas }: Pick<Backend, "betas">): Headers {
  return betas === undefined ? headers : keepBetas(headers, (beta) => betas.includes(beta));
}

/** A field that servers refuse without one of its betas, and that the client can do without: it sends all of its context. */
const CONTEXT_MANAGEMENT = "context_management";
const OF_CONTEXT_MANAGEMENT = /^(?:context-management|compact)-/;

/** Fields of the body that go with the betas that were left out. */
export function fieldsLeftOut(sent: Headers, known: Headers): string[] {
  const isUsable = (headers: Headers) => betasIn(headers).some((beta) => OF_CONTEXT_MANAGEMENT.test(beta.trim()));
  return isUsable(sent) && !isUsable(known) ? [CONTEXT_MANAGEMENT] : [];
}

/** Without the beta that enlarges the context window beyond the Model's, and makes every token of it more expensive. */
export function pricedBetas(headers: Headers, { model, backend }: Pick<TranslationInput, "model" | "backend">): Headers {
  const isPriced = backend.profile.unpricedFeatures || (model.contextWindow ?? 0) > PRICED_WINDOW;
  return isPriced ? headers : keepBetas(headers, (beta) => !LONG_CONTEXT.test(beta));
}

function keepBetas(headers: Headers, isKept: (beta: string) => boolean): Headers {
  const { [BETA_HEADER]: betas, ...others } = headers;
  if (betas === undefined) return headers;
  const kept = betasIn(headers).filter((beta) => isKept(beta.trim()));
  return kept.length === 0 ? others : { ...others, [BETA_HEADER]: kept.join(",") };
}

/** As the client wrote them. */
function betasIn({ [BETA_HEADER]: betas }: Headers): string[] {
  return betas?.split(",") ?? [];
}
