import * as z from "zod";
import type { EnvoyConfig } from "../../../operator/bootstrap/envoy-config.ts";

/** A part of the bootstrap's JSON, and what stands in its place. */
export interface BootstrapChange {
  from: string;
  to: string;
}

const bootstrapSchema = z.record(z.string(), z.unknown());

/**
 * The product's bootstrap with other times or sizes.
 * @throws Error if the product's has no such part: then the change says nothing about the product any more.
 */
export function changeBootstrap(bootstrap: EnvoyConfig, changes: readonly BootstrapChange[]): EnvoyConfig {
  let text = JSON.stringify(bootstrap);
  for (const { from, to } of changes) {
    if (!text.includes(from)) throw new Error(`Envoy's bootstrap has no ${from}.`);
    text = text.replaceAll(from, to);
  }
  return bootstrapSchema.parse(JSON.parse(text));
}
