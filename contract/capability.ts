import { INPUT_INTERFACES } from "./protocol.ts";

/** Capabilities beyond text, as the administrator states them; that of an input interface follows from the interface. */
export const CAPABILITIES = ["tools", "images", "files", "reasoning", "structured_outputs", ...INPUT_INTERFACES] as const;
export type Capability = (typeof CAPABILITIES)[number];
