import * as z from "zod";
import { EVENT_TYPES, type EventType } from "../../ledger/webhooks/event-types.ts";

const eventName = z.enum(EVENT_TYPES, `Must be one of ${EVENT_TYPES.join(", ")}.`);

/** Each once. */
export const chosenEvents = z
  .array(eventName)
  .min(1, "Choose at least one event.")
  .max(EVENT_TYPES.length * 2, "List each event only once.")
  .transform((names): EventType[] => [...new Set(names)]);

/** Throws a ZodError with a sentence for each invalid field. */
export const webhookForm = z.object({
  url: z.string().default(""),
  events: z
    .string()
    .default("")
    .transform((text) => text.split(",").filter((name) => name !== ""))
    .pipe(chosenEvents),
});
