import { expect, test } from "vitest";
import { GatewayError } from "../../../contract/errors.ts";

test.for([
  ["invalid_api_key", {}, { "x-should-retry": "false" }],
  ["model_not_found", {}, { "x-should-retry": "false" }],
  ["method_not_allowed", { headers: { allow: "POST" } }, { "x-should-retry": "false", allow: "POST" }],
  ["insufficient_balance", { headers: { "retry-after": "2" } }, { "retry-after": "2" }],
  ["insufficient_balance", { headers: { "x-should-retry": "true" } }, { "x-should-retry": "true" }],
  ["invalid_request", { status: 408 }, {}],
  ["invalid_request", { status: 409 }, {}],
  ["rate_limited", {}, {}],
  ["overloaded", {}, {}],
  ["upstream_error", {}, {}],
] as const)("%s with %o tells SDKs whether to retry (S42)", ([code, options, headers]) => {
  expect(new GatewayError(code, "No.", options).headers).toEqual(headers);
});
