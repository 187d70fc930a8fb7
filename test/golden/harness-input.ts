import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { encodeError, toGatewayError } from "../../contract/errors.ts";
import type { InputInterface } from "../../contract/protocol.ts";
import { sizeInput } from "../../extproc/meter/input-size.ts";
import { parseBody } from "../../extproc/protocol/json/parse-body.ts";
import { createTranslation } from "../../extproc/translate/choose.ts";
import { catalogueModel } from "../support/ledger.ts";

const REQUEST_ID = "01900000-0000-7000-8000-000000000001";
const PRICE = {
  inputPicoUsd: 20_000n,
  cachedInputPicoUsd: 20_000n,
  cacheWritePicoUsd: 20_000n,
  outputPicoUsd: 0n,
  unitPicoUsd: 0n,
};

/**
 * Compares the fixtures of an input interface with their golden files. They are as those of conversations, but that nothing
 * streams: `fixtures/README.md` says what the files are.
 */
export function inputSuite(client: InputInterface): void {
  const root = join(import.meta.dirname, `fixtures/${client}-via-chat`);
  test.for(readdirSync(root))("%s matches its golden file (S46)", async (name) => {
    const golden = join(root, name, "expected.txt");
    // Vitest would write a missing file outside CI; only `npm run golden:update` may.
    const isUpdating = expect.getState().snapshotState["_updateSnapshot"] === "all";
    expect(isUpdating || existsSync(golden), `${golden} is missing: npm run golden:update`).toBe(true);
    await expect(render(client, join(root, name))).toMatchFileSnapshot(golden);
  });
}

/** What goes upstream, what the client gets, what is counted. */
function render(client: InputInterface, folder: string): string {
  const request = readFileSync(join(folder, "request.json"));
  const answers = readdirSync(folder).filter((file) => !["request.json", "expected.txt"].includes(file));
  const sections = [attempt(client, () => renderUpstream(client, request))];
  for (const file of answers.toSorted()) {
    const answer = readFileSync(join(folder, file));
    sections.push(`===== client gets, for ${file}\n${attempt(client, () => renderAnswer(serve(client, request), answer))}`);
  }
  return sections.join("\n");
}

function serve(client: InputInterface, request: Buffer) {
  const model = catalogueModel("modelx", { interfaces: [client], contextWindow: 8_192, maxOutputTokens: 0 });
  const [first] = model.backends;
  if (first === undefined) throw new Error("the model has no backend");
  const backend = { ...first, upstreamModel: "upstream-model" };
  const body = parseBody(request, { headers: new Map(), interface: client });
  const { hold, meter } = sizeInput(body, { client, model: { ...model, price: PRICE } });
  const input = { body, headers: new Map(), model, backend, outputTokens: 0, requestId: REQUEST_ID, nowSeconds: 1_800_000_000 };
  return { ...createTranslation(client, input), hold, meter: meter(0) };
}

function renderUpstream(client: InputInterface, request: Buffer): string {
  const { upstream, hold } = serve(client, request);
  const facts = `held: ${hold.promptTokens} tokens, ${hold.fullNanoUsd} nano-USD`;
  return `===== upstream gets: POST ${upstream.path}\n${upstream.body.toString("utf8")}\n===== ${facts}\n`;
}

function renderAnswer({ response, meter }: ReturnType<typeof serve>, answer: Buffer): string {
  const bytes = response(answer, meter);
  const { usage, isEstimated } = meter.final();
  const anomalies = meter.anomalies().length === 0 ? "" : `, anomalies: ${meter.anomalies().join(", ")}`;
  const how = bytes === answer ? " (the very same bytes)" : "";
  return `${bytes.toString("utf8")}\n===== usage${isEstimated ? " (estimated)" : ""}: ${JSON.stringify(usage)}${anomalies}${how}\n`;
}

function attempt(client: InputInterface, step: () => string): string {
  try {
    return step();
  } catch (thrown) {
    const error = toGatewayError(thrown);
    // A bug must fail the test, never become a golden file.
    if (error.code === "internal_error") throw thrown;
    return `===== refused: ${error.status}\n${JSON.stringify(encodeError(client, error, REQUEST_ID), null, 2)}\n`;
  }
}
