import type { ModelInfo } from "@anthropic-ai/sdk/resources/models";
import type { Model } from "openai/resources/models";
import { expect, test } from "vitest";
import { describeForChat, describeForMessages } from "../../../../extproc/answers/described-model.ts";
import { catalogueModel } from "../../../support/billing/ledger.ts";

const NOW_MS = Date.UTC(2026, 10, 23);
/** 3 USD, 0.30 USD, 3.75 USD and 15 USD per million tokens. */
const price = {
  inputPicoUsd: 3_000_000n,
  cachedInputPicoUsd: 300_000n,
  cacheWritePicoUsd: 3_750_000n,
  outputPicoUsd: 15_000_000n,
  unitPicoUsd: 0n,
};
const terms = {
  pricing: { prompt: "0.000003", completion: "0.000015", input_cache_read: "0.0000003", input_cache_write: "0.00000375" },
  supported_endpoints: ["/v1/chat/completions", "/v1/messages"],
};
const plain = { ...catalogueModel("acme", { contextWindow: null, interfaces: ["chat", "messages"] }), price };
const described = {
  ...plain,
  contextWindow: 131_072,
  displayName: "Acme Large",
  description: "For long documents.",
  capabilities: ["tools" as const, "images" as const],
};

test("OpenAI's model list has the Model's stated fields, and no more (S45)", () => {
  const fields = describeForChat(plain, NOW_MS) satisfies Model;
  const always = ["id", "object", "created", "owned_by", "max_completion_tokens", "pricing", "supported_endpoints"];
  expect(Object.keys(fields)).toEqual(always);
  expect(describeForChat(described, NOW_MS)).toEqual({
    id: "acme",
    object: "model",
    created: 1_700_000_000,
    owned_by: "model-gateway",
    name: "Acme Large",
    description: "For long documents.",
    context_length: 131_072,
    max_completion_tokens: 8192,
    capabilities: ["tools", "images"],
    ...terms,
  });
});

test("both lists say what a request costs that is sent with an own key, and for which providers (S59)", () => {
  const [backend] = plain.backends;
  if (backend === undefined) throw new Error("a model has a backend");
  const own = (provider: string) => ({
    ...backend,
    providerKey: { provider, origin: "https://api.example", endpoint: provider },
  });
  const model = {
    ...plain,
    backends: [own("one"), own("one"), backend],
    unreadyProviders: ["another"],
    price: { ...price, providerKeyFee: { requestPicoUsd: 500_000_000n, millionths: 25_000n } },
  };
  const provider_key_pricing = { providers: ["another", "one"], per_request: "0.0005", percent: "2.5" };
  expect(describeForChat(model, NOW_MS)).toMatchObject({ provider_key_pricing, ...terms });
  expect(describeForMessages(model, NOW_MS)).toMatchObject({ provider_key_pricing, ...terms });
});

test("Anthropic's model list has every field of its SDK; null means that capabilities are not stated", () => {
  const fields = describeForMessages(plain, NOW_MS) satisfies ModelInfo;
  expect(fields).toMatchObject({ display_name: "acme", max_input_tokens: null, max_tokens: 8192, capabilities: null });
  expect(fields).toMatchObject({ lifecycle: "active", deprecated_at: null, retires_at: null });
  const { capabilities, ...stated } = describeForMessages(described, NOW_MS);
  expect(stated).toMatchObject({
    ...terms,
    display_name: "Acme Large",
    description: "For long documents.",
    max_input_tokens: 131_072,
  });
  expect(capabilities).toMatchObject({
    image_input: { supported: true },
    pdf_input: { supported: false },
    structured_outputs: { supported: false },
    thinking: { supported: false, types: { enabled: { supported: false }, disabled: { supported: true } } },
  });
});

test.for([
  { when: "later", sinceSeconds: NOW_MS / 1000 + 60, shown: { lifecycle: "active", deprecated_at: null, retires_at: null } },
  {
    when: "already",
    sinceSeconds: NOW_MS / 1000 - 60,
    shown: {
      lifecycle: "deprecated",
      deprecated_at: "2026-11-22T23:59:00.000Z",
      retires_at: "2027-11-23T00:00:00.000Z",
    },
  },
])("a Model that is deprecated $when has that lifecycle", ({ sinceSeconds, shown }) => {
  const deprecation = { sinceSeconds, sunsetSeconds: Date.UTC(2027, 10, 23) / 1000 };
  expect(describeForMessages({ ...plain, deprecation }, NOW_MS)).toMatchObject(shown);
  expect(describeForChat({ ...plain, deprecation }, NOW_MS)).toMatchObject(shown);
});
