import { freePort } from "../../local/process/ports.ts";
import { pick, type Random } from "../support/random.ts";
import { makeBackendManifests, type TestBackend, type TestModelOfMany } from "../support/stacks/backend-manifests.ts";
import { SPARE } from "./upstream.ts";

const SINGLE = ["single-chat", "single-messages", "single-responses"] as const;
const PAIR = "pair";
const REFUSING = { single: ["refusing-chat", "refusing-messages"], pair: "refusing-pair" } as const;

/** A folder of Models by which every fault can be had, with a server behind the failing one and without. */
export async function makeModels(upstreamUrl: string): Promise<{ directory: string; remove(): Promise<void> }> {
  const refusingUrl = `http://127.0.0.1:${await freePort()}`;
  const chat = (url: string): TestBackend => ({ name: "first", protocol: "chat", url });
  const messages = (url: string): TestBackend => ({ name: "first", protocol: "messages", url });
  const responses = (url: string): TestBackend => ({ name: "first", protocol: "responses", url });
  const spare: TestBackend = { ...messages(`${upstreamUrl}${SPARE}`), name: "spare", priority: 1 };
  const model = (name: string, ...backends: TestBackend[]): TestModelOfMany => ({
    name,
    timeouts: { firstByte: "10s", idle: "10s" },
    maxOutputTokens: 1_000_000,
    backends,
  });
  return await makeBackendManifests([
    model(SINGLE[0], chat(upstreamUrl)),
    model(SINGLE[1], messages(upstreamUrl)),
    model(SINGLE[2], responses(upstreamUrl)),
    model(PAIR, chat(upstreamUrl), spare),
    model(REFUSING.single[0], chat(refusingUrl)),
    model(REFUSING.single[1], messages(refusingUrl)),
    model(REFUSING.pair, chat(refusingUrl), spare),
  ]);
}

/** A Model whose first server fails so. */
export function chooseModel(random: Random, fault: string): { model: string; hasSpare: boolean } {
  const { single, pair } = fault === "connection refused" ? REFUSING : { single: SINGLE, pair: PAIR };
  const hasSpare = random() < 0.25;
  return { model: hasSpare ? pair : pick<string>(random, single), hasSpare };
}
