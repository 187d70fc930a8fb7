import type { Protocol } from "../../../../contract/protocol.ts";
import { PROFILES, type Profile } from "../../../../contract/profile.ts";
import { parseBody } from "../../../../extproc/protocol/json/parse-body.ts";
import { LIMIT_NAMES } from "../../../../extproc/protocol/output/guarded-names.ts";
import type { TranslationInput } from "../../../../extproc/translate/translation.ts";

export interface InputOptions {
  upstream: Protocol;
  flags?: Partial<Profile>;
  upstreamModel?: string;
  maxOutputTokens?: number;
  headers?: Record<string, string>;
}

/** A translation's input around a request body, with everything else plain. */
export function inputFor(request: object | string | Buffer, options: InputOptions): TranslationInput {
  const body = Buffer.isBuffer(request) ? request : Buffer.from(typeof request === "string" ? request : JSON.stringify(request));
  const backend = {
    name: "b",
    cluster: "c",
    protocol: options.upstream,
    basePath: "",
    upstreamModel: options.upstreamModel ?? "upstream-model",
    weight: 1,
    priority: 0,
    profile: { ...PROFILES.generic, ...options.flags },
  };
  const parsed = parseBody(body, { headers: new Map(), interface: "chat" });
  const limits = LIMIT_NAMES.map((name) => parsed.outline[name]).filter((limit) => typeof limit === "number");
  const maxOutputTokens = options.maxOutputTokens ?? 8192;
  return {
    body: parsed,
    headers: new Map(Object.entries(options.headers ?? {})),
    model: {
      name: "modelx-v4-pro",
      aliases: [],
      interfaces: ["chat", "messages"],
      contextWindow: null,
      maxOutputTokens,
      createdSeconds: 0,
      backends: [backend],
    },
    backend,
    outputTokens: Math.min(maxOutputTokens, ...limits),
    requestId: "01900000-0000-7000-8000-000000000001",
    nowSeconds: 1_800_000_000,
  };
}
