import { beforeAll, expect, test } from "vitest";
import { ERRORS } from "../../../contract/errors.ts";
import { MESSAGES_VERSIONS, RATE_LIMIT_HEADERS } from "../../../contract/headers.ts";
import type { Dialect } from "../../../contract/protocol.ts";
import { findEndpoint } from "../../../extproc/route/endpoint.ts";
import { describeUnknownPath } from "../../../extproc/route/unknown-path.ts";
import { ROUTES_OF_KEYS } from "../../support/dashboard/api-access-table.ts";
import { readOpenapi, type OpenapiDocument } from "../../support/dashboard/openapi.ts";

/** docs/openapi.yaml against the code; test/envoy/dashboard/openapi.test.ts holds real answers against it. */
let document: OpenapiDocument;
beforeAll(async () => {
  document = await readOpenapi();
});

test("it is valid OpenAPI 3.1", () => {
  expect(document.mistakes).toBeUndefined();
});

test("it has every path that the gateway serves, with its method, and no other", () => {
  // Those for batches are the dashboard's.
  const ofKeys = new Set(ROUTES_OF_KEYS.map((route) => route.replace(":id", "{id}")));
  const named = document.operations.map(({ method, path }) => `${method} ${path}`);
  expect(new Set(named.filter((each) => ofKeys.has(each)))).toEqual(ofKeys);
  const operations = document.operations.filter(({ method, path }) => !ofKeys.has(`${method} ${path}`));
  const listed = named.filter((each) => !ofKeys.has(each));
  for (const { method, path } of operations)
    expect(
      () => findEndpoint({ method, path: path.replace("{id}", "modelx-v4-pro"), hasVersion: false, storesResponses: true }),
      path,
    ).not.toThrow();
  const served = describeUnknownPath("/nowhere").match(/(?:GET|POST) [\w/]+/g) ?? [];
  expect(listed).toEqual(expect.arrayContaining(served));
  expect(listed).toHaveLength(
    served.length +
      [
        "GET /",
        "GET /v1/models/{id}",
        "GET /v1/usage/{id}",
        "GET /v1/responses/{id}",
        "DELETE /v1/responses/{id}",
        "GET /v1/responses/{id}/input_items",
        "POST /v2/rerank",
      ].length,
  );
});

test("its error types and codes are those of the error table, in both dialects (S17)", () => {
  const rows = Object.values(ERRORS);
  const distinct = <Value extends string | null>(values: Value[]) => new Set(values);
  expect(new Set(document.enumOf("OpenAIErrorType"))).toEqual(distinct(rows.map(({ chat }) => chat.type)));
  expect(new Set(document.enumOf("OpenAIErrorCode"))).toEqual(distinct(rows.map(({ chat }) => chat.code)));
  expect(new Set(document.enumOf("AnthropicErrorType"))).toEqual(distinct(rows.map(({ messages }) => messages.type)));
});

test("answers of each interface have its own rate-limit headers, and no others (S23)", () => {
  const described = (id: string) => document.headersOf(id, 200).filter((name) => name.includes("ratelimit"));
  const named = ({ requests, tokens }: (typeof RATE_LIMIT_HEADERS)[Dialect]) => [requests, tokens].flatMap(Object.values);
  expect(described("createChatCompletion")).toEqual(named(RATE_LIMIT_HEADERS.chat));
  expect(described("createResponse")).toEqual(named(RATE_LIMIT_HEADERS.chat));
  expect(described("createMessage")).toEqual(named(RATE_LIMIT_HEADERS.messages));
});

test("its versions of the Messages interface are those that are accepted (S4)", () => {
  expect(document.enumOf("MessagesVersion")).toEqual(MESSAGES_VERSIONS);
});
