import * as z from "zod";

const journalSchema = z.object({
  requests: z.array(z.object({ path: z.string(), body: z.string(), bodyBytes: z.int(), isAborted: z.boolean() })),
});
export type JournalEntry = z.infer<typeof journalSchema>["requests"][number];

/** The last 100 requests that the simulated model server received, oldest first. */
export async function readJournal(simulatorUrl: string): Promise<JournalEntry[]> {
  const response = await fetch(`${simulatorUrl}/simulator/requests`);
  return journalSchema.parse(await response.json()).requests;
}

export async function clearJournal(simulatorUrl: string): Promise<void> {
  await (await fetch(`${simulatorUrl}/simulator/requests`, { method: "DELETE" })).text();
}
