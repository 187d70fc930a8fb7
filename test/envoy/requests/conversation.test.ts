import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rawMember } from "../../../extproc/protocol/json/scan.ts";
import type { Protocol } from "../../../contract/protocol.ts";
import { createChatAgent } from "../../support/agents/chat.ts";
import { createMessagesAgent } from "../../support/agents/messages.ts";
import type { AgentAnswer } from "../../support/agents/agent.ts";
import { makeManifests, SIMULATOR_URLS } from "../../support/stacks/manifests-folder.ts";
import { clearJournal, readJournal } from "../../support/servers/simulator-journal.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";
import { createWatchedFetch, type WatchedFetch } from "../../support/wire/watched-fetch.ts";

/**
 * An agent's twenty turns, streamed through the official SDKs over every pair of protocols. In each turn the model thinks
 * and calls two tools at once; one of them answers with an image; the model thinks again, and speaks.
 */
const TURNS = 20;
const UPSTREAM_MODEL = "agent-model";
/** One pixel. */
const IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

interface Pair {
  client: Protocol;
  upstream: Protocol;
  model: string;
}
const PAIRS: Pair[] = [
  { client: "chat", upstream: "chat", model: "via-chat" },
  { client: "chat", upstream: "messages", model: "via-messages" },
  { client: "messages", upstream: "chat", model: "via-chat" },
  { client: "messages", upstream: "messages", model: "via-messages" },
];
/** Most chat servers take no image from a tool: it goes into a user message behind the results. */
const BLIND_TOOLS: Pair = { client: "messages", upstream: "chat", model: "via-chat-default" };
const FORGETFUL: Pair = { client: "messages", upstream: "chat", model: "via-vllm" };

interface Conversation {
  transcript: AgentAnswer[];
  /** The `messages` of each upstream request, as its bytes are. */
  prompts: string[];
  watched: WatchedFetch;
}

let stack: TestProduct;
let removeManifests: () => Promise<void>;
const conversations = new Map<Pair, Conversation>();
beforeAll(async () => {
  const server = { upstreamModel: UPSTREAM_MODEL, maxOutputTokens: 16_384 };
  const chat = { ...server, upstream: "chat", url: SIMULATOR_URLS.chat } as const;
  const manifests = await makeManifests([
    { ...chat, name: "via-chat", profile: { imageInToolResult: true } },
    { ...chat, name: "via-chat-default" },
    { ...chat, name: "via-vllm", profile: { preset: "vllm" } },
    { ...server, name: "via-messages", upstream: "messages", url: SIMULATOR_URLS.messages },
  ]);
  removeManifests = manifests.remove;
  stack = await borrowStack({ manifestsDirectory: manifests.directory, creditNanoUsd: 100_000_000_000n });
  for (const pair of [...PAIRS, BLIND_TOOLS, FORGETFUL]) conversations.set(pair, await converse(pair));
});
afterAll(async () => {
  await stack.stop();
  await removeManifests();
});

async function converse({ client, model }: Pair): Promise<Conversation> {
  await clearJournal(stack.simulatorUrl);
  const watched = createWatchedFetch();
  const create = client === "chat" ? createChatAgent : createMessagesAgent;
  const agent = create({ baseUrl: stack.baseUrl, apiKey: stack.apiKey, model, fetch: watched.fetch });
  const transcript: AgentAnswer[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    transcript.push(await agent.ask(`Question ${turn}? [[sim tools=2]]`));
    transcript.push(await agent.answer([{ text: `shot ${turn}`, image: IMAGE }, { text: `line ${turn}` }]));
  }
  const entries = await readJournal(stack.simulatorUrl);
  const prompts = entries.map(({ body }) => rawMember(Buffer.from(body), "messages")?.toString() ?? "");
  return { transcript, prompts, watched };
}

function conversationOf(pair: Pair): Conversation {
  const conversation = conversations.get(pair);
  if (conversation === undefined) throw new Error("this pair did not converse");
  return conversation;
}

/** The simulated model's answer. Its ids are its own; another test checks their form. */
function expectedTranscript(): AgentAnswer[] {
  return Array.from({ length: TURNS }, (_, turn) => {
    const thinking = `This reasoning is simulated. The question is “Question ${turn}?”, and the answer repeats it.`;
    const shoot = { id: expect.any(String), name: "shoot", input: { page: "simulated page" } };
    const read = { id: expect.any(String), name: "read", input: { path: "simulated path", line: 1 } };
    const text = `This is a simulation of ${UPSTREAM_MODEL}: no model has read this. The tools returned: “shot ${turn} | line ${turn}”`;
    return [
      { thinking, text: "", calls: [shoot, read], stop: "tools" as const },
      { thinking, text, calls: [], stop: "end" as const },
    ];
  }).flat();
}

function idsOf({ transcript }: Conversation): string[] {
  return transcript.flatMap(({ calls }) => calls.map(({ id }) => id));
}

describe.for(PAIRS)("a $client client's conversation with a $upstream server", (pair) => {
  test("has the transcript that every pair has: thinking, text and calls in order", () => {
    expect(conversationOf(pair).transcript).toEqual(expectedTranscript());
  });

  test("gives every call a different id", () => {
    expect(new Set(idsOf(conversationOf(pair))).size).toBe(TURNS * 2);
  });

  test("drops no part of the requests", () => {
    const dropped = conversationOf(pair).watched.responses.map(({ headers }) => headers.get("x-gateway-dropped"));
    expect(dropped).toEqual(Array.from({ length: TURNS * 2 }, () => null));
  });

  test("carries all thinking, calls, results and images to the upstream", () => {
    const last = conversationOf(pair).prompts.at(-1) ?? "";
    const count = (piece: string) => last.split(piece).length - 1;
    expect(count(IMAGE)).toBe(TURNS);
    for (let turn = 0; turn < TURNS; turn += 1) {
      expect({ shot: count(`"shot ${turn}"`), line: count(`"line ${turn}"`) }).toEqual({ shot: 1, line: 1 });
    }
    for (const id of idsOf(conversationOf(pair))) expect(count(id)).toBe(2);
    expect(count("This reasoning is simulated.")).toBe(TURNS * 2 - 1);
  });
});

describe.for([...PAIRS, BLIND_TOOLS, FORGETFUL])("the prompt of $client clients at $model", (pair) => {
  test("grows only at its end, byte for byte, so that the upstream's cache hits", () => {
    const { prompts } = conversationOf(pair);
    expect(prompts).toHaveLength(TURNS * 2);
    for (const [index, prompt] of prompts.slice(1).entries()) {
      const before = prompts[index]?.slice(0, -1) ?? "";
      expect(before.length).toBeGreaterThan(2);
      expect(prompt.slice(0, before.length), `request ${index + 1}`).toBe(before);
      expect(prompt.length).toBeGreaterThan(before.length + 1);
    }
  });
});

test.for(["chat", "messages"] as const)("both interfaces show the %s server's call ids", (upstream) => {
  const [one, other] = PAIRS.filter((pair) => pair.upstream === upstream).map((pair) => idsOf(conversationOf(pair)));
  expect(one).toEqual(other);
});

test("a server that does not accept images from tools gets them from the user, after the results", () => {
  const last = conversationOf(BLIND_TOOLS).prompts.at(-1) ?? "";
  expect(last.split(IMAGE)).toHaveLength(TURNS + 1);
  const messages: { role: string; content: unknown }[] = JSON.parse(last);
  const withImage = messages.filter(({ content }) => JSON.stringify(content ?? null).includes(IMAGE));
  expect(withImage.map(({ role }) => role)).toEqual(Array.from({ length: TURNS }, () => "user"));
});

test("every answer is charged once, as complete", async () => {
  const requests = [...conversations.values()].flatMap(({ watched }) => watched.responses);
  const ids = requests.map(({ headers }) => headers.get("x-request-id") ?? "");
  expect(new Set(ids).size).toBe(conversations.size * TURNS * 2);
  const rows = await Promise.all(ids.map((id) => stack.usageOf(id)));
  expect(rows.map((each) => each.map(({ outcome, isEstimated }) => ({ outcome, isEstimated })))).toEqual(
    ids.map(() => [{ outcome: "complete", isEstimated: false }]),
  );
});
