import * as z from "zod";

/** Where customers' webhooks and traces may be sent to: the public internet only, or anywhere, including this machine and its networks. */
export type TargetNetworks = "public" | "any";

/** Variables of the process. */
export const TARGET_VARIABLES = {
  /** "any" if customers are trusted with requests from inside the network. */
  WEBHOOK_NETWORKS: z.enum(["public", "any"]).default("public"),
};
