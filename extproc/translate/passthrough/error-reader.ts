import type { Interface } from "../../../contract/protocol.ts";
import type { ErrorReader } from "../../protocol/upstream-error.ts";
import { providerOf } from "../../route/provider-key.ts";
import type { TranslationInput } from "../translation.ts";

/** Client and server share a protocol, but a server's errors also name its hosts, its own model and its account: they never pass. */
export function errorReader(client: Interface, { backend, model }: Pick<TranslationInput, "backend" | "model">): ErrorReader {
  const modelNames = { upstream: backend.upstreamModel, client: model.name, provider: providerOf(backend) };
  return { client, upstream: backend.protocol, modelNames };
}
