import { expect, test } from "vitest";
import type { Backend } from "../../../../contract/catalogue.ts";
import { GatewayError } from "../../../../contract/errors.ts";
import type { ProviderKeys } from "../../../../contract/provider-key.ts";
import { providerOf, withProviderKey } from "../../../../extproc/route/provider-key.ts";
import type { WorldModel } from "../../../../extproc/world/world.ts";
import { catalogueModel, PRICE } from "../../../support/billing/ledger.ts";

const ORIGIN = "https://api.example.com";
const FEE = { requestPicoUsd: 1n, millionths: 2n };

function modelOf(backends: readonly Partial<Backend>[]): WorldModel {
  const model = catalogueModel("modelx");
  const [backend] = model.backends;
  if (backend === undefined) throw new Error("a model has a backend");
  return {
    ...model,
    backends: backends.map((each) => ({ ...backend, cluster: "gateways", ...each })),
    price: { ...PRICE, id: 1n, version: 1, schedule: [], batch: null, providerKeyFee: FEE },
    notice: {},
  };
}

const providerKey = { provider: "example", origin: ORIGIN, endpoint: "e1" };
const MODEL = modelOf([{ name: "own", providerKey }, { name: "plain" }]);

function keys(changes: Partial<ProviderKeys[number]> = {}): ProviderKeys {
  return [{ id: "k1", provider: "example", origin: ORIGIN, state: "active", fingerprints: [], ...changes }];
}

function thrownBy(work: () => unknown): GatewayError {
  try {
    work();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

test("an account without a key for the model finds it as it is", () => {
  expect(withProviderKey(MODEL, {})).toBe(MODEL);
  expect(withProviderKey(MODEL, { providerKeys: keys({ provider: "other" }) })).toBe(MODEL);
});

test("with a key only the backends that take it are left, at the fee, and no other cluster (S59)", () => {
  const { backends, price } = withProviderKey(MODEL, { providerKeys: keys() });
  expect(backends.map(({ name, cluster }) => ({ name, cluster }))).toEqual([{ name: "own", cluster: "provider-key/k1/e1" }]);
  expect(price).toMatchObject({ ...PRICE, fee: FEE });
  expect(backends.map(providerOf)).toEqual(["example"]);
  expect(MODEL.backends.map(providerOf)).toEqual([undefined, undefined]);
});

test.for([
  { changes: { state: "pending" }, code: "provider_key_unavailable", says: "still applying", retryAfter: "1" },
  { changes: { state: "no_room" }, code: "provider_key_unavailable", says: "no capacity", retryAfter: "60" },
  { changes: { state: "unusable" }, code: "provider_key_unavailable", says: "Enter it again", retryAfter: "60" },
  { changes: { origin: "https://old.example.com" }, code: "provider_key_refused", says: "another server", retryAfter: undefined },
] as const)(
  "a key that cannot be used is an error, never the gateway's credential: $says (S59)",
  ({ changes, code, says, retryAfter }) => {
    const error = thrownBy(() => withProviderKey(MODEL, { providerKeys: keys(changes) }));
    expect(error).toMatchObject({ code, message: expect.stringContaining(says) });
    expect(error.headers["retry-after"]).toBe(retryAfter);
  },
);

test.for([
  { changes: { state: "pending" } },
  { changes: { state: "unusable" } },
  { changes: { origin: "https://old.example.com" } },
] as const)(
  "a key that cannot be used lets the model be as for others, if the account has allowed that: %o (S59)",
  ({ changes }) => {
    expect(withProviderKey(MODEL, { providerKeys: keys({ ...changes, fallsBack: true }) })).toBe(MODEL);
    const others = [...keys({ ...changes, fallsBack: true }), ...keys({ ...changes, provider: "second" })];
    const both = modelOf([
      { name: "own", providerKey },
      { name: "second", providerKey: { ...providerKey, provider: "second" } },
    ]);
    expect(() => withProviderKey(both, { providerKeys: others })).toThrow(GatewayError);
  },
);

test("a key that can be used is used, whatever the account has allowed (S59)", () => {
  const { price } = withProviderKey(MODEL, { providerKeys: keys({ fallsBack: true }) });
  expect(price.fee).toEqual(FEE);
});

test("while no server that takes the key is ready, others do not answer at the price instead (S59)", () => {
  const model = { ...modelOf([{ name: "plain" }]), unreadyProviders: ["example"] };
  const error = thrownBy(() => withProviderKey(model, { providerKeys: keys() }));
  expect(error).toMatchObject({ code: "provider_key_unavailable", message: expect.stringContaining("provider example") });
  expect(error.headers["retry-after"]).toBe("60");
  expect(withProviderKey(model, { providerKeys: keys({ provider: "other" }) })).toBe(model);
  expect(withProviderKey(model, { providerKeys: keys({ fallsBack: true }) })).toBe(model);
  expect(withProviderKey(model, {})).toBe(model);
});

test("a model whose price has no fee is not served with a key", () => {
  const { providerKeyFee: _fee, ...price } = MODEL.price;
  expect(() => withProviderKey({ ...MODEL, price }, { providerKeys: keys() })).toThrow(GatewayError);
});
