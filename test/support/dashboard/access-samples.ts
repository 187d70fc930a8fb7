import { randomUUID } from "node:crypto";

/** Ids and bodies that pages and the management API have in common, for their tables of who gets what. */

/** Another one for each try: names of projects are unique. */
export const NEW_NAME = {
  get name() {
    return randomUUID();
  },
};
export const PROJECT = { id: "project" } as const;
export const PROVIDER = { provider: "provider" } as const;
export const HOOK = { url: "https://example.com/hook" };
export const WEBHOOK = { id: "webhook" } as const;
export const OTLP = { kind: "otlp", name: "n", url: "https://example.com/v1/traces" };
export const TRACES = { id: "trace destination" } as const;
