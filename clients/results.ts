import { readFileSync } from "node:fs";
import path from "node:path";
import * as z from "zod";
import type { InterfaceName } from "./tool.ts";

/** The tests' results for a client, over one interface. */
const seen = z.strictObject({
  interface: z.enum(["chat", "messages", "responses"]).optional(),
  version: z.string().optional(),
  text: z.boolean(),
  stream: z.boolean(),
  tools: z.boolean(),
  /** It requests reasoning, or shows the model's reasoning. */
  reasoning: z.boolean(),
  /** Each request was charged by the upstream's own count. */
  usage: z.boolean(),
});
export type Seen = z.infer<typeof seen>;

/** Written by the tests of test/clients. Tools are called `id:interface`, SDKs by name. */
function read(name: string): Readonly<Record<string, Seen>> {
  const text = readFileSync(path.join(import.meta.dirname, "results", name), "utf8");
  return z.record(z.string(), seen).parse(JSON.parse(text));
}

export function seenOfTool(id: string, speaks: InterfaceName): Seen | undefined {
  return read("tools.json")[`${id}:${speaks}`];
}

export function seenOfSdks(): Readonly<Record<string, Seen>> {
  return read("sdks.json");
}
