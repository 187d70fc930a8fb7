import { INTERFACES, isInputInterface, type Interface } from "../../../contract/protocol.ts";
import type { ListedModel } from "../../../ledger/models/model-list.ts";
import { defaultModel } from "../default-model.ts";

/** In examples if nothing is served. */
const EXAMPLE = "modelx-v4-pro";

/** Models for examples. */
export interface ExampleModels {
  /** undefined: no model has the interface. The same one if a model has both. */
  chatModel: string | undefined;
  messagesModel: string | undefined;
  /** One for each interface that is served, if neither of these two is. */
  others: readonly { client: Interface; model: string }[];
  /** A model converses: the playground and coding tools can use it. */
  hasConversation: boolean;
}

export function chooseModels(models: readonly ListedModel[]): ExampleModels {
  if (models.length === 0) return { chatModel: EXAMPLE, messagesModel: EXAMPLE, others: [], hasConversation: true };
  const having = (...wanted: Interface[]) =>
    defaultModel(models.filter(({ model }) => wanted.every((each) => model.interfaces.includes(each))))?.model.name;
  const both = having("chat", "messages");
  const chatModel = both ?? having("chat");
  const messagesModel = both ?? having("messages");
  const served = INTERFACES.flatMap((client) => {
    const model = having(client);
    return model === undefined ? [] : [{ client, model }];
  });
  return {
    chatModel,
    messagesModel,
    others: chatModel === undefined && messagesModel === undefined ? served : [],
    hasConversation: served.some(({ client }) => !isInputInterface(client)),
  };
}
