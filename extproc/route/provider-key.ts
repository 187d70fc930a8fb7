import type { Backend } from "../../contract/catalogue.ts";
import { GatewayError } from "../../contract/errors.ts";
import { providerCluster, PROVIDER_CLUSTER_PREFIX, type ProviderKeys } from "../../contract/provider-key.ts";
import type { WorldAccount, WorldModel } from "../world/world.ts";

/**
 * The model as an account finds it that has brought its own key for a provider of it: only the backends that get the key, and the
 * fee in place of the price. Nothing else is tried, because the gateway's own credential has another price: only if the key cannot be
 * used, and the account has allowed that, is the model the same as for others.
 * @throws GatewayError `provider_key_unavailable` or `provider_key_refused` if the key cannot be used: then nothing is sent.
 */
export function withProviderKey(model: WorldModel, { providerKeys }: Pick<WorldAccount, "providerKeys">): WorldModel {
  if (providerKeys === undefined) return model;
  const concerned = model.backends.flatMap((backend) => pairOf(backend, providerKeys));
  const [first] = concerned;
  if (first === undefined) {
    const unserved = providerKeys.find(
      ({ provider, fallsBack }) => fallsBack !== true && model.unreadyProviders?.includes(provider) === true,
    );
    if (unserved === undefined) return model;
    throw unavailable(
      `No server of this model that accepts ${ownKeyFor(unserved.provider)} is available right now. Try again later, or allow fallback for the key ${PAGE}, to use the model at its regular price meanwhile.`,
      "60",
    );
  }
  const backends = concerned.filter(isUsable).map(({ backend, key, offer }) => ({
    ...backend,
    cluster: providerCluster(key.id, offer.endpoint),
  }));
  const fee = model.price.providerKeyFee ?? null;
  if (backends.length === 0 || fee === null) {
    if (concerned.every(({ key }) => key.fallsBack === true)) return model;
    throw unusable(first);
  }
  return { ...model, backends, price: { ...model.price, fee } };
}

/** The provider whose key the account brought; undefined if requests to the backend have the gateway's credential. */
export function providerOf({ cluster, providerKey }: Pick<Backend, "cluster" | "providerKey">): string | undefined {
  return cluster.startsWith(PROVIDER_CLUSTER_PREFIX) ? providerKey?.provider : undefined;
}

interface Pair {
  backend: Backend;
  offer: NonNullable<Backend["providerKey"]>;
  key: ProviderKeys[number];
}

function pairOf(backend: Backend, keys: ProviderKeys): Pair[] {
  const offer = backend.providerKey;
  const key = keys.find(({ provider }) => provider === offer?.provider);
  return offer === undefined || key === undefined ? [] : [{ backend, offer, key }];
}

function isUsable({ offer, key }: Pair): boolean {
  return key.state === "active" && key.origin === offer.origin;
}

const PAGE = "in the dashboard, under Provider keys";

function ownKeyFor(provider: string): string {
  return `your account's own key for the provider ${provider}`;
}

function unusable({ offer, key }: Pair): GatewayError {
  const yours = ownKeyFor(key.provider);
  if (key.origin !== offer.origin)
    return new GatewayError(
      "provider_key_refused",
      `This model has moved to another server, which ${yours} was not entered for. Enter the key again or delete it ${PAGE}.`,
    );
  switch (key.state) {
    case "pending":
    case "active":
      return unavailable(`The gateway is still applying ${yours}. Try again in a few seconds.`, "1");
    case "no_room":
      return unavailable(
        `The gateway has no capacity for ${yours}. Delete it or allow fallback ${PAGE}, to use this model at its regular price, or contact the service's operator.`,
        "60",
      );
    case "unusable":
      return unavailable(`The gateway cannot use ${yours}. Enter it again or delete it ${PAGE}.`, "60");
  }
}

function unavailable(message: string, retryAfter: string): GatewayError {
  return new GatewayError("provider_key_unavailable", message, { headers: { "retry-after": retryAfter } });
}
