import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { encodeError, toGatewayError } from "../../contract/errors.ts";
import type { InputInterface } from "../../contract/protocol.ts";
import { sizeInput } from "../../extproc/meter/input-size.ts";
import type { Meter } from "../../extproc/meter/meter.ts";
import { parseForm } from "../../extproc/protocol/form/form-body.ts";
import { FORM_RULES } from "../../extproc/protocol/form/form-rules.ts";
import { parseBody } from "../../extproc/protocol/json/parse-body.ts";
import { createTranslation } from "../../extproc/translate/choose.ts";
import { chargeNanoUsd, type Price } from "../../ledger/money.ts";
import { catalogueModel } from "../support/billing/ledger.ts";
import { GOLDEN_NOW_SECONDS, GOLDEN_REQUEST_ID, textOf } from "./harness-run.ts";

const BY_TOKENS: Price = {
  inputPicoUsd: 20_000n,
  cachedInputPicoUsd: 20_000n,
  cacheWritePicoUsd: 20_000n,
  outputPicoUsd: 0n,
  unitPicoUsd: 0n,
};
const PRICES = {
  embeddings: BY_TOKENS,
  rerank: BY_TOKENS,
  // 10 USD for a million input tokens and 40 for output, 0.04 for an image, 0.01 for one of low quality and 0.16 for high.
  image_generation: {
    ...BY_TOKENS,
    inputPicoUsd: 10_000_000n,
    outputPicoUsd: 40_000_000n,
    unitPicoUsd: 40_000_000_000n,
    imagePrices: [
      { size: null, quality: "low", unitPicoUsd: 10_000_000_000n },
      { size: null, quality: "high", unitPicoUsd: 160_000_000_000n },
    ],
  },
  // 0.006 USD for a minute.
  transcription: { ...BY_TOKENS, inputPicoUsd: 0n, unitPicoUsd: 100_000_000n },
} as const satisfies Partial<Record<InputInterface, Price>>;

type Client = keyof typeof PRICES;

const FORMS = { image_generation: FORM_RULES.edit, transcription: FORM_RULES.recording };
const FORM_HEADERS = new Map([["content-type", "multipart/form-data; boundary=golden"]]);
const NOT_ANSWERS: ReadonlySet<string> = new Set(["request.json", "request.form", "expected.txt"]);
const OUTPUT_TOKENS = 8_192;

/**
 * Compares the fixtures of an input interface with their golden files, and plays their streams split at each byte.
 * `fixtures/README.md` says what the files are.
 */
export function inputSuite(client: Client): void {
  const root = join(import.meta.dirname, `fixtures/${client.replace("_", "-")}-via-chat`);
  const names = readdirSync(root);
  test.for(names)("%s matches its golden file (S46, S54)", async (name) => {
    const golden = join(root, name, "expected.txt");
    // Vitest would write a missing file outside CI; only `npm run golden:update` may.
    const isUpdating = expect.getState().snapshotState["_updateSnapshot"] === "all";
    expect(isUpdating || existsSync(golden), `${golden} is missing: npm run golden:update`).toBe(true);
    await expect(render(client, join(root, name))).toMatchFileSnapshot(golden);
  });

  const streams = names.flatMap((name) =>
    answersIn(join(root, name))
      .filter(isStream)
      .map((file) => ({ name, file })),
  );
  if (streams.length === 0) return;
  test.for(streams)("$name/$file gives the same when split in two at each byte", ({ name, file }) => {
    const request = readRequest(join(root, name));
    const answer = readFileSync(join(root, name, file));
    const whole = renderStream(client, serve(client, request), [answer]);
    for (let at = 1; at < answer.length; at++)
      expect(renderStream(client, serve(client, request), [answer.subarray(0, at), answer.subarray(at)])).toBe(whole);
  });
}

interface Request {
  bytes: Buffer;
  isForm: boolean;
}

/** A form is written with LF, for people to read. */
function readRequest(folder: string): Request {
  const form = join(folder, "request.form");
  if (!existsSync(form)) return { bytes: readFileSync(join(folder, "request.json")), isForm: false };
  return { bytes: Buffer.from(readFileSync(form, "utf8").replaceAll("\n", "\r\n")), isForm: true };
}

function answersIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((file) => !NOT_ANSWERS.has(file))
    .toSorted();
}

function isStream(file: string): boolean {
  return file.endsWith(".sse");
}

/** What goes upstream, what the client gets, what is counted. */
function render(client: Client, folder: string): string {
  const request = readRequest(folder);
  const sections = [attempt(client, () => renderUpstream(client, request))];
  for (const file of answersIn(folder)) {
    const answer = readFileSync(join(folder, file));
    const show = () =>
      isStream(file)
        ? renderStream(client, serve(client, request), [answer])
        : renderAnswer(client, serve(client, request), answer);
    sections.push(`===== client gets, for ${file}\n${attempt(client, show)}`);
  }
  return sections.join("\n");
}

function parseRequest(client: Client, { bytes, isForm }: Request) {
  if (!isForm) return parseBody(bytes, { headers: new Map(), interface: client });
  if (client !== "image_generation" && client !== "transcription") throw new Error(`${client} has no form`);
  return parseForm(bytes, FORM_HEADERS, FORMS[client]);
}

function serve(client: Client, request: Request) {
  const hasOutput = client in FORMS;
  const limits = { contextWindow: hasOutput ? null : 8_192, maxOutputTokens: hasOutput ? OUTPUT_TOKENS : 0 };
  const model = catalogueModel("modelx", { interfaces: [client], ...limits });
  const [first] = model.backends;
  if (first === undefined) throw new Error("the model has no backend");
  const backend = { ...first, upstreamModel: "upstream-model" };
  const body = parseRequest(client, request);
  const { hold, meter } = sizeInput(body, { client, model: { ...model, price: PRICES[client] } });
  const headers = request.isForm ? FORM_HEADERS : new Map<string, string>();
  const input = { body, headers, model, backend, outputTokens: 0, requestId: GOLDEN_REQUEST_ID, nowSeconds: GOLDEN_NOW_SECONDS };
  return { ...createTranslation(client, input), hold, meter: meter(0) };
}

type Served = ReturnType<typeof serve>;

function renderUpstream(client: Client, request: Request): string {
  const { upstream, hold } = serve(client, request);
  const headers = Object.entries(upstream.headers).map(([name, value]) => `${name}: ${value}\n`);
  const text = upstream.body.toString("utf8");
  const isSame = request.isForm && upstream.body === request.bytes ? " (the very same bytes)" : "";
  const shown = request.isForm ? text.replaceAll("\r\n", "\n") : text;
  const facts = `held: ${hold.promptTokens} tokens, ${hold.fullNanoUsd} nano-USD${isSame}`;
  return `===== upstream gets: POST ${upstream.path}\n${headers.join("")}${shown}\n===== ${facts}\n`;
}

function renderAnswer(client: Client, { response, meter }: Served, answer: Buffer): string {
  const bytes = response(answer, meter);
  const how = bytes === answer ? " (the very same bytes)" : "";
  return `${bytes.toString("utf8")}\n${renderUsage(client, meter)}${how}\n`;
}

function renderStream(client: Client, { stream, meter }: Served, chunks: readonly Buffer[]): string {
  const machine = stream(meter);
  const text = textOf(machine, chunks);
  return `${text}===== outcome: ${machine.outcome()}\n${renderUsage(client, meter)}\n`;
}

function renderUsage(client: Client, meter: Meter): string {
  const { usage, unitPrice, isEstimated } = meter.final();
  const anomalies = meter.anomalies().length === 0 ? "" : `, anomalies: ${meter.anomalies().join(", ")}`;
  const price = PRICES[client];
  const terms = unitPrice === undefined || unitPrice.terms === "" ? "" : ` (${unitPrice.terms})`;
  const nanoUsd = chargeNanoUsd(usage, { ...price, unitPicoUsd: unitPrice?.picoUsd ?? price.unitPicoUsd });
  const charge = price.unitPicoUsd === 0n ? "" : `, charged: ${nanoUsd} nano-USD${terms}`;
  return `===== usage${isEstimated ? " (estimated)" : ""}: ${JSON.stringify(usage)}${charge}${anomalies}`;
}

function attempt(client: Client, step: () => string): string {
  try {
    return step();
  } catch (thrown) {
    const error = toGatewayError(thrown);
    // A bug must fail the test, never become a golden file.
    if (error.code === "internal_error") throw thrown;
    return `===== refused: ${error.status}\n${JSON.stringify(encodeError(client, error, GOLDEN_REQUEST_ID), null, 2)}\n`;
  }
}
