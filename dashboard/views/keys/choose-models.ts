import type { Protocol } from "../../../contract/protocol.ts";
import type { ListedModel } from "../../../ledger/models/model-list.ts";
import { defaultModel } from "../default-model.ts";

/** In examples if nothing is served. */
const EXAMPLE = "modelx-v4-pro";

/** An example model for each interface; the same one if a model has both. */
export function chooseModels(models: readonly ListedModel[]): { chatModel: string; messagesModel: string } {
  const having = (...wanted: Protocol[]) =>
    defaultModel(models.filter(({ model }) => wanted.every((each) => model.interfaces.includes(each))))?.model.name;
  const both = having("chat", "messages");
  return { chatModel: both ?? having("chat") ?? EXAMPLE, messagesModel: both ?? having("messages") ?? EXAMPLE };
}
