import * as z from "zod";

/** Allowed targets of webhooks: only the public internet, or anything, including this machine and its networks. */
export type WebhookNetworks = "public" | "any";

/** Variables of the process. */
export const WEBHOOK_VARIABLES = {
  /** "any" if customers are trusted with requests from inside the network. */
  WEBHOOK_NETWORKS: z.enum(["public", "any"]).default("public"),
};
