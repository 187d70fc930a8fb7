import { GatewayError } from "../../contract/errors.ts";
import { CLIENT_PATHS, type Interface } from "../../contract/protocol.ts";
import { describeValue } from "../protocol/request-error.ts";
import type { WorldKey, WorldModel, World } from "../world/world.ts";

const RECOMMENDED = ["modelx-v4-pro", "modelx-v4-flash"];
/** Names in a message; GET /v1/models lists all. */
const MAX_NAMES = 20;
const AND = new Intl.ListFormat("en", { type: "conjunction" });

export interface ModelWish {
  world: World;
  key: WorldKey;
  protocol: Interface;
  /** Where people can look up the models. */
  modelsUrl: string;
  /** The request's `model`, of any type. */
  name: unknown;
}

/**
 * The model behind a name or alias, on this interface and for this key (S7–S9).
 * @throws GatewayError `invalid_request` without a usable name, `upstream_unavailable` if a newer version published it,
 * `model_not_found` otherwise; the text lists available names.
 */
export function chooseModel({ world, key, protocol, modelsUrl, name }: ModelWish): WorldModel {
  if (typeof name !== "string" || name === "") {
    const found = describeValue(name);
    throw new GatewayError("invalid_request", `\`model\` ${found}. Send the name of a model as a string.`, { field: "model" });
  }
  const model = world.findModel(name);
  if (model !== undefined && isUsable(model, key, protocol)) return model;
  const unreadable = world.findUnreadableModel(name);
  if (unreadable !== undefined && (key.allowedModels?.includes(unreadable) ?? true))
    throw new GatewayError(
      "upstream_unavailable",
      `The model ${JSON.stringify(name)} cannot be served right now. Try again shortly.`,
      {
        headers: { "retry-after": "5" },
      },
    );
  const why = explain({ world, key, protocol, name }, model);
  const remedy = recommend(listUsable({ world, key, protocol }), protocol);
  throw new GatewayError("model_not_found", `${why} ${remedy} All are at ${modelsUrl}`, { field: "model" });
}

/** Models that this key may use on this interface, by name (S10). */
export function listUsable({ world, key, protocol }: Omit<ModelWish, "name" | "modelsUrl">): WorldModel[] {
  return world.models().filter((model) => isUsable(model, key, protocol));
}

function isUsable(model: WorldModel, key: WorldKey, protocol: Interface): boolean {
  return model.interfaces.includes(protocol) && isAllowed(key, model);
}

function isAllowed(key: WorldKey, model: WorldModel): boolean {
  return key.allowedModels === null || key.allowedModels.includes(model.name);
}

/** Why a name is invalid here, with the name that was probably meant. */
function explain(
  { world, key, protocol, name }: Omit<ModelWish, "modelsUrl"> & { name: string },
  model: WorldModel | undefined,
): string {
  const shown = JSON.stringify(name.slice(0, 128));
  if (model !== undefined && isAllowed(key, model)) {
    const elsewhere = model.interfaces.filter((other) => other !== protocol).map((other) => `POST ${CLIENT_PATHS[other]}`);
    return `The model ${shown} is not available on this interface, only on ${AND.format(elsewhere)}.`;
  }
  const meant = world.findModel(tidyName(name));
  const isSpelling = meant !== undefined && meant !== model && isAllowed(key, meant);
  return `The model ${shown} was not found.${isSpelling ? ` Its name is written ${JSON.stringify(meant.name)}.` : ""}`;
}

/** Routers prefix a provider's name; people add capitals and white space. */
function tidyName(name: string): string {
  const tidy = name.trim().toLowerCase();
  return tidy.slice(tidy.lastIndexOf("/") + 1);
}

function recommend(usable: readonly WorldModel[], protocol: Interface): string {
  const names = usable.map((model) => model.name);
  const recommended = RECOMMENDED.filter((name) => names.includes(name));
  if (names.length === 0) {
    return `This key cannot use any model on this interface.${REMEDIES[protocol]}`;
  }
  if (recommended.length === names.length) return `Use ${recommended.join(" or ")}.`;
  const others = names.length - MAX_NAMES;
  const list = `This interface has: ${names.slice(0, MAX_NAMES).join(", ")}${others > 0 ? `, and ${others} more` : ""}.`;
  return recommended.length === 0 ? list : `Use ${recommended.join(" or ")}. ${list}`;
}

/** Of interfaces that no model has by default. */
const REMEDIES = {
  chat: "",
  messages: "",
  responses: " The operator of this service can enable Responses for a model.",
  embeddings: " The operator of this service can add a model with the interface Embeddings.",
  rerank: " The operator of this service can add a model with the interface Rerank.",
  image_generation: " The operator of this service can add a model with the interface ImageGeneration.",
  speech: " The operator of this service can add a model with the interface Speech.",
  transcription: " The operator of this service can add a model with the interface Transcription.",
} as const satisfies Record<Interface, string>;
