import * as z from "zod";

/** Where webhooks may be: on the public internet alone, or anywhere, also on this machine and in its networks. */
export type WebhookNetworks = "public" | "any";

/** Variables of the process. */
export const WEBHOOK_VARIABLES = {
  /** "any" where customers are trusted with requests from inside the network. */
  WEBHOOK_NETWORKS: z.enum(["public", "any"]).default("public"),
};
