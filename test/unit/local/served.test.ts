import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { listServed } from "../../../local/served.ts";

/** A gateway whose answers to GET /v1/models are these, in turn, and then the last one again. */
async function serve(lists: readonly (readonly string[])[]): Promise<string> {
  let asked = 0;
  const server = createServer((_, response) => {
    const names = lists[Math.min(asked++, lists.length - 1)] ?? [];
    response.end(JSON.stringify({ data: names.map((id) => ({ id })) }));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${z.object({ port: z.number() }).parse(server.address()).port}`;
}

test("Models that are published between the two lists are in both", async () => {
  const baseUrl = await serve([[], [], [], ["modelx-v4-pro"]]);
  const served = await listServed({ baseUrl, apiKey: "any", signal: new AbortController().signal });
  expect(served).toEqual({ chat: ["modelx-v4-pro"], messages: ["modelx-v4-pro"] });
});
