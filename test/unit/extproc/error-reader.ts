import type { ErrorReader } from "../../../extproc/protocol/upstream-error.ts";

/** Of a server whose model clients know under another name. */
export const READER: ErrorReader = { client: "chat", upstream: "chat", modelNames: { upstream: "inner-model", client: "m" } };
