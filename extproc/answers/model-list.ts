import { dialectOf, INTERFACES, type Dialect, type Interface } from "../../contract/protocol.ts";
import type { Endpoint } from "../route/endpoint.ts";
import { chooseModel, listUsable } from "../route/choose-model.ts";
import { pricedAt, type World, type WorldKey, type WorldModel } from "../world/world.ts";
import { describeForChat, describeForMessages } from "./described-model.ts";

export interface DescribeModelsInput {
  endpoint: Extract<Endpoint, { kind: "models" }>;
  key: WorldKey;
  world: World;
  /** The page that lists the models. */
  modelsUrl: string;
  nowMs: number;
}

/** The model list, or one model, in the caller's protocol, with only the models that this key may use (S10). */
export function describeModels({ endpoint, key, world, modelsUrl, nowMs }: DescribeModelsInput): object {
  const { protocol, id } = endpoint;
  const { interfaces, describe, list }: ModelList = LISTS[protocol];
  if (id !== null) {
    const there = interfaces.find((each) => world.findModel(id)?.interfaces.includes(each));
    return describe(pricedAt(chooseModel({ world, key, protocol: there ?? protocol, modelsUrl, name: id }), nowMs), nowMs);
  }

  const usable = new Set(interfaces.flatMap((each) => listUsable({ world, key, protocol: each })));
  const models = world.models().filter((model) => usable.has(model));
  return list(
    models.map((model) => describe(pricedAt(model, nowMs), nowMs)),
    models,
  );
}

interface ModelList {
  /** The interfaces whose Models it contains. */
  interfaces: readonly Interface[];
  describe(this: void, model: WorldModel, nowMs: number): object;
  list(data: readonly object[], models: readonly WorldModel[]): object;
}

const LISTS = {
  chat: {
    // One list serves all interfaces of this dialect: their clients request it in the same way.
    interfaces: INTERFACES.filter((each) => dialectOf(each) === "chat"),
    describe: describeForChat,
    list: (data) => ({ object: "list", data }),
  },
  messages: {
    interfaces: ["messages"],
    describe: describeForMessages,
    list: (data, models) => ({
      data,
      has_more: false,
      first_id: models.at(0)?.name ?? null,
      last_id: models.at(-1)?.name ?? null,
    }),
  },
} as const satisfies Record<Dialect, ModelList>;
