import { expect, test } from "vitest";
import { refusePriceModifiers } from "../../../../../extproc/translate/passthrough/price-modifiers.ts";
import { parseBody } from "../../../../../extproc/protocol/json/parse-body.ts";

const bodyWith = (fields: object) =>
  parseBody(Buffer.from(JSON.stringify({ model: "m", messages: [], ...fields })), {
    headers: new Map([["content-type", "application/json"]]),
    interface: "chat",
  });

test.for([
  { service_tier: "priority" },
  { service_tier: "scale" },
  { service_tier: ["priority"] },
  { speed: "fast" },
  { inference_geo: "us" },
])("%o asks the provider for a more expensive answer than is charged, and is refused by name", (fields) => {
  const [field] = Object.keys(fields);
  expect(() => refusePriceModifiers(bodyWith(fields))).toThrow(expect.objectContaining({ code: "invalid_request", field }));
});

test.for([
  {},
  { service_tier: "auto" },
  { service_tier: "flex" },
  { service_tier: null },
  { speed: "standard" },
  { inference_geo: "global" },
])("%o is served at the Model's price", (fields) => {
  expect(() => refusePriceModifiers(bodyWith(fields))).not.toThrow();
});

test.for([
  [{ speed: "fast" }, "`speed` must be `standard`: the model's price covers nothing else. You can also leave it out."],
  [{ inference_geo: "us" }, "`inference_geo` must be `global` or `not_available`: "],
] as const)("%o: the message has the values that are accepted", ([fields, message]) => {
  expect(() => refusePriceModifiers(bodyWith(fields))).toThrow(message);
});
