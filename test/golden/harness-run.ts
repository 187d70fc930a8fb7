import type { Backend, CatalogueModel } from "../../contract/catalogue.ts";
import { GatewayError } from "../../contract/errors.ts";
import { PROFILES } from "../../contract/profile.ts";
import { createMeter, type MeteredUsage } from "../../extproc/meter/meter.ts";
import { sizePrompt } from "../../extproc/meter/prompt-size.ts";
import { parseBody } from "../../extproc/protocol/json/parse-body.ts";
import { readOutputAsk, type OutputAsk } from "../../extproc/protocol/output/output-ask.ts";
import { createTranslation } from "../../extproc/translate/choose.ts";
import type { StreamOutcome, StreamTranslation, Translation } from "../../extproc/translate/translation.ts";
import type { Fixture } from "./harness-fixture.ts";

export interface StreamRun {
  readonly text: string;
  readonly outcome: StreamOutcome;
  readonly metered: MeteredUsage;
}

/** The moment and the id that every golden file is written with. */
const NOW_SECONDS = 1_800_000_000;
const REQUEST_ID = "01900000-0000-7000-8000-000000000001";

/** The translation that serves a fixture's request; throws what the gateway would refuse it with. */
export function translate(fixture: Fixture): Translation & { ask: OutputAsk } {
  const { setup, request } = fixture;
  const backend: Backend = {
    name: "golden",
    cluster: "golden",
    protocol: fixture.upstream,
    basePath: "",
    upstreamModel: setup.upstreamModel,
    weight: 1,
    priority: 0,
    profile: { ...PROFILES[setup.profile], ...setup.flags },
  };
  const model: CatalogueModel = {
    name: setup.model,
    aliases: [],
    interfaces: ["chat", "messages"],
    contextWindow: null,
    maxOutputTokens: setup.maxOutputTokens,
    createdSeconds: 0,
    backends: [backend],
  };
  const body = parseBody(request, { headers: new Map(), interface: fixture.client });
  const ask = readOutputAsk(body, fixture.client);
  const translation = createTranslation(fixture.client, {
    body,
    headers: new Map(Object.entries(setup.headers)),
    model,
    backend,
    requestId: REQUEST_ID,
    outputTokens: Math.min(ask.limit ?? model.maxOutputTokens, model.maxOutputTokens),
    nowSeconds: NOW_SECONDS,
  });
  return { ...translation, ask };
}

/** The prompt's size, as admission counts it. */
function promptTokensOf({ request, client }: Fixture): number {
  return sizePrompt(parseBody(request, { headers: new Map(), interface: client })).tokens;
}

/**
 * Plays a fixture's stream as often as wanted, each time from the start: chunks pass through the translation, which is
 * then closed as the upstream would close it. The request is read once.
 */
export function createPlayer(fixture: Fixture): (chunks: Iterable<Buffer>) => StreamRun {
  const promptTokens = promptTokensOf(fixture);
  const translation = translate(fixture);
  return (chunks) => {
    const meter = createMeter(promptTokens);
    const stream = translation.stream(meter);
    const text = textOf(stream, chunks);
    return { text, outcome: stream.outcome(), metered: meter.final() };
  };
}

/** What the client gets of a stream that arrives in these chunks. */
export function textOf(stream: StreamTranslation, chunks: Iterable<Buffer>): string {
  const output: Buffer[] = [];
  try {
    for (const chunk of chunks) {
      const bytes = stream.push(chunk);
      output.push(bytes === "unchanged" ? chunk : bytes);
    }
    output.push(stream.end());
  } catch (thrown) {
    // As the exchange does: what the upstream did wrong ends the stream; anything else is a bug.
    if (!(thrown instanceof GatewayError)) throw thrown;
    output.push(stream.fail(thrown));
  }
  return Buffer.concat(output).toString("utf8");
}

/** Plays a fixture's stream once. */
export function playStream(fixture: Fixture, chunks: Iterable<Buffer>): StreamRun {
  return createPlayer(fixture)(chunks);
}

export function playWhole(fixture: Fixture, body: Buffer): { text: string; metered: MeteredUsage } {
  const meter = createMeter(promptTokensOf(fixture));
  const bytes = translate(fixture).response(body, meter);
  return { text: bytes.toString("utf8"), metered: meter.final() };
}

export { REQUEST_ID as GOLDEN_REQUEST_ID, NOW_SECONDS as GOLDEN_NOW_SECONDS };
