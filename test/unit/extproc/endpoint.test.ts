import { expect, test } from "vitest";
import { GatewayError } from "../../../contract/errors.ts";
import { findEndpoint, protocolOf } from "../../../extproc/route/endpoint.ts";

const post = (path: string) => ({ method: "POST", path, hasVersion: false });
const get = (path: string) => ({ method: "GET", path, hasVersion: false });

function refusalOf(act: () => unknown): GatewayError {
  try {
    act();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

test.for([
  ["/v1/chat/completions", { kind: "generate", protocol: "chat" }],
  ["/v1/chat/completions/", { kind: "generate", protocol: "chat" }],
  ["/v1/messages", { kind: "generate", protocol: "messages" }],
  ["/v1/messages?beta=true", { kind: "generate", protocol: "messages" }],
  ["/v1/messages/count_tokens?beta=true", { kind: "count_tokens", protocol: "messages" }],
] as const)("POST %s is served (S1)", ([path, endpoint]) => {
  expect(findEndpoint(post(path))).toEqual(endpoint);
});

test("the model list speaks messages where a version header says so, chat otherwise (S10)", () => {
  expect(findEndpoint(get("/v1/models"))).toEqual({ kind: "models", id: null, protocol: "chat" });
  expect(findEndpoint({ ...get("/v1/models"), hasVersion: true })).toEqual({ kind: "models", id: null, protocol: "messages" });
  expect(findEndpoint(get("/v1/models/acme%2Flarge"))).toEqual({ kind: "models", id: "acme/large", protocol: "chat" });
});

test.for(["/v1/v1/messages", "/v1/v1/chat/completions", "//v1/v1/messages"])("%s says that one /v1 is too many (S20)", (path) => {
  const refusal = refusalOf(() => findEndpoint(post(path)));
  expect(refusal.code).toBe("not_found");
  expect(refusal.message).toContain("one `/v1` too many");
});

test.for([
  ["/v1/v1/messages", "messages"],
  ["/v1/messages/batches", "messages"],
  ["/messages", "messages"],
  ["/v1/messagesx", "chat"],
  ["/v1/embeddings", "chat"],
  ["/v1/chat/completions", "chat"],
] as const)("an error about %s is written for %s clients (S20)", ([path, protocol]) => {
  expect(protocolOf(post(path))).toBe(protocol);
});

test("a wrong method is 405 and names the right one (S20)", () => {
  const refusal = refusalOf(() => findEndpoint(get("/v1/chat/completions")));
  expect(refusal.status).toBe(405);
  expect(refusal.headers).toEqual({ allow: "POST" });
  expect(refusalOf(() => findEndpoint(post("/v1/models"))).headers).toEqual({ allow: "GET, HEAD" });
});

test("a missing /v1 is answered with the path that was meant", () => {
  expect(refusalOf(() => findEndpoint(post("/chat/completions"))).message).toContain("POST to /v1/chat/completions");
});
