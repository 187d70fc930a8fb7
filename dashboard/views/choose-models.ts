import type { Protocol } from "../../contract/protocol.ts";
import type { ListedModel } from "../../ledger/model-list.ts";

/** A model to show examples with, for each interface. */
export function chooseModels(models: readonly ListedModel[]): { chatModel: string; messagesModel: string } {
  const first = (wanted: Protocol) => models.find(({ model }) => model.interfaces.includes(wanted))?.model.name;
  const preferred = models.find(({ model }) => model.interfaces.includes("chat") && model.interfaces.includes("messages"))?.model
    .name;
  return {
    chatModel: preferred ?? first("chat") ?? "modelx-v4-pro",
    messagesModel: preferred ?? first("messages") ?? "modelx-v4-pro",
  };
}
