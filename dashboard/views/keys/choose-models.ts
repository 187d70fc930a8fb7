import type { Protocol } from "../../../contract/protocol.ts";
import type { ListedModel } from "../../../ledger/models/model-list.ts";

/** The one to begin with (S7), where it is served. */
const RECOMMENDED = "modelx-v4-pro";

/** A model to show examples with, for each interface. */
export function chooseModels(models: readonly ListedModel[]): { chatModel: string; messagesModel: string } {
  const first = (wanted: Protocol) => models.find(({ model }) => model.interfaces.includes(wanted))?.model.name;
  const both = models.filter(({ model }) => model.interfaces.includes("chat") && model.interfaces.includes("messages"));
  const preferred = (both.find(({ model }) => model.name === RECOMMENDED) ?? both[0])?.model.name;
  return {
    chatModel: preferred ?? first("chat") ?? RECOMMENDED,
    messagesModel: preferred ?? first("messages") ?? RECOMMENDED,
  };
}
