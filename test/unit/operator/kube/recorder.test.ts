import { expect, test } from "vitest";
import * as z from "zod";
import { createRecorder } from "../../../../operator/kube/recorder.ts";

const eventSchema = z.object({ note: z.string() });

/** The API server counts bytes, and rejects an Event with more than 1,024 in its note. */
test.for([
  { name: "one byte", note: "a".repeat(1_200) },
  { name: "two bytes", note: `a${"é".repeat(700)}` },
  { name: "three bytes", note: "模".repeat(512) },
  { name: "four bytes", note: "\u{1F600}".repeat(300) },
])("a long note is cut at a whole character within the API server's limit: characters of $name", async ({ note }) => {
  const notes: string[] = [];
  const recorder = createRecorder({
    client: {
      async send({ body }) {
        notes.push(eventSchema.parse(body?.content).note);
        return {};
      },
    },
    apiVersion: "modelgateway.dev/v1alpha1",
    instance: "operator-0",
    clock: { nowMs: () => 0 },
    events: { eventLost: () => undefined },
  });
  const metadata = { name: "sample", namespace: "team-a", uid: "uid", resourceVersion: "1", generation: 1, finalizers: [] };
  recorder.record({ kind: "Model", metadata, type: "Warning", reason: "Deprecated", note });
  await recorder.stop();
  const [written = ""] = notes;
  expect(Buffer.byteLength(written)).toBeLessThanOrEqual(1_024);
  expect(Buffer.byteLength(written)).toBeGreaterThan(1_020);
  expect(note.startsWith(written)).toBe(true);
});
