import { expect, test } from "vitest";
import type { ModelServer } from "../../../local/destinations.ts";
import { adviseOnUpstreams } from "../../../local/upstream-advice.ts";

function server(url: string, upstreamModel = "small"): ModelServer {
  return { url, upstreamModel, kind: "given" };
}

function advise(chatUrl: string, { goesTo = chatUrl, model = "small" } = {}): string[] {
  const servers = [server(goesTo)];
  return adviseOnUpstreams(
    { chatUrl, model },
    new Map([
      ["modelx-v4-pro", servers],
      ["small", servers],
    ]),
  );
}

test("a base URL with its version needs no advice", () => {
  expect(advise("http://127.0.0.1:11434/v1")).toEqual([]);
  expect(advise("https://provider.example/v1beta/openai")).toEqual([]);
  expect(advise("https://provider.example/api/v4")).toEqual([]);
});

test("a bare origin is completed, and the screen shows it", () => {
  expect(advise("http://127.0.0.1:11434", { goesTo: "http://127.0.0.1:11434/v1" })).toEqual([
    "--upstream-chat has no /v1: http://127.0.0.1:11434/v1 is used.",
  ]);
});

test("a path without a version is used as typed, and the screen shows what is probably meant", () => {
  expect(advise("http://127.0.0.1:3000/api")).toEqual([
    "--upstream-chat has no /v1: requests go to http://127.0.0.1:3000/api/chat/completions. You probably mean http://127.0.0.1:3000/api/v1.",
  ]);
});

test("a server without --upstream-model gets the names in the manifests", () => {
  const chatUrl = "http://127.0.0.1:11434/v1";
  const destinations = new Map([
    ["modelx-v4-pro", [server(chatUrl, "modelx-v4-pro")]],
    ["modelx-chat", [server(chatUrl, "modelx-chat")]],
  ]);
  expect(adviseOnUpstreams({ chatUrl }, destinations)).toEqual([
    "The server receives requests for models named modelx-v4-pro, modelx-chat: if its names differ, add --upstream-model.",
  ]);
});

test("a flag without effect on any Model is reported", () => {
  expect(adviseOnUpstreams({ messagesUrl: "https://provider.example" }, new Map())).toEqual([
    "--upstream-messages has no effect: no Model in the manifests has the url http://messages.simulator.localhost.",
  ]);
});

test("a model name that no Model may have is served under another, which is reported", () => {
  expect(advise("http://127.0.0.1:1/v1", { model: "a name with spaces" })).toEqual([
    "a name with spaces cannot be the name of a Model: clients use modelx-v4-pro instead.",
  ]);
});
