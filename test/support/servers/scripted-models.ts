import type { IncomingMessage, ServerResponse } from "node:http";
import { afterAll, beforeAll } from "vitest";
import { makeBackendManifests, type TestBackend, type TestModelOfMany } from "../stacks/backend-manifests.ts";
import { startRecordingUpstream } from "./recording-upstream.ts";
import type { TestProduct } from "../stacks/product.ts";
import { borrowStack, type BorrowOptions } from "../shared-stacks/borrow.ts";
import { startTestStack, type TestStack } from "../stacks/stack.ts";

/** Answers one request of the gateway. */
export type ModelAnswer = (request: IncomingMessage, response: ServerResponse, body: string) => Promise<void> | void;

/** The same with the body as it came, which may be no text. */
type AnswerToBytes = (...asked: [...Parameters<ModelAnswer>, bytes: Buffer]) => Promise<void> | void;

/**
 * The product in front of one model server that a test scripts, for all tests of a file. Accounts have 1,000 USD.
 * @param answer is called anew for each request
 * @param models which Models lead to the server's URL
 */
export function useScriptedModels(answer: AnswerToBytes, models: ModelsOf = eachProtocol): () => TestProduct {
  return useModels({ answer, models, start: borrowStack });
}

/** The same on a stack of the file's own, with so many processes of extproc. */
export function useScriptedModelsOfWorkers(workers: number, answer: ModelAnswer, models: ModelsOf): () => TestStack {
  return useModels({ answer, models, start: (options) => startTestStack({ ...options, workers }) });
}

/** A backend of the server's path that has this name, which asks for another model than clients do. */
export function backendAt(url: string, name: string): TestBackend {
  return { name: "first", protocol: "chat", url: `${url}/${name}`, upstreamModel: "inner-model" };
}

type ModelsOf = (url: string) => readonly TestModelOfMany[];

function useModels<Product extends TestProduct>({
  answer,
  models,
  start,
}: {
  answer: AnswerToBytes;
  models: ModelsOf;
  start: (options: BorrowOptions) => Promise<Product>;
}): () => Product {
  let product: Product | undefined;
  const stops: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    const upstream = await startRecordingUpstream((...asked) => void answer(...asked));
    stops.push(upstream.stop);
    const manifests = await makeBackendManifests([...models(`http://127.0.0.1:${upstream.port}`)]);
    stops.push(manifests.remove);
    product = await start({ manifestsDirectory: manifests.directory, creditNanoUsd: 1_000_000_000_000n });
    stops.push(product.stop);
  });
  afterAll(async () => {
    for (const stop of stops.reverse()) await stop();
  });
  return () => {
    if (product === undefined) throw new Error("The product is not running yet.");
    return product;
  };
}

/** Dear enough that a single token shows in the balance. */
export const DEAR = { inputPerMillion: "100.00", outputPerMillion: "100.00" };

/** The server speaks another protocol as each Model. */
function eachProtocol(url: string): TestModelOfMany[] {
  const backend = (protocol: TestBackend["protocol"]) => ({ name: "only", protocol, url });
  return [
    { name: "as-chat", backends: [backend("chat")], pricing: DEAR },
    { name: "as-messages", backends: [backend("messages")], pricing: DEAR },
    { name: "as-responses", backends: [backend("responses")], pricing: DEAR },
  ];
}
