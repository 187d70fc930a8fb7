import type { IncomingHttpHeaders } from "node:http";
import { expect, test } from "vitest";
import { judge } from "../../../../extproc/batches/judge.ts";

/** What an answer means for a request of a batch (S58, docs/batches.md). */
const REQUEST = { interface: "chat" } as const;
const answer = (status: number, headers: IncomingHttpHeaders) => ({ status, headers, body: Buffer.from("{}") });

test.for([
  { name: "as soon as the answer says", headers: { "retry-after": "7" }, delayMs: 7_000 },
  { name: "a minute later at most", headers: { "retry-after": "80000", "x-should-retry": "false" }, delayMs: 60_000 },
  {
    name: "a minute later if waiting does not help, as under a limit of zero",
    headers: { "x-should-retry": "false" },
    delayMs: 60_000,
  },
  { name: "two seconds later if the answer says nothing", headers: {}, delayMs: 2_000 },
])("a request that is refused by a limit is sent again $name (S58)", ({ headers, delayMs }) => {
  expect(judge(REQUEST, answer(429, headers), false)).toEqual({ kind: "refused", delayMs, by: "load" });
});

test.for([401, 429, 503, 529])("a request that is refused with %i for now is sent again (S58)", (status) => {
  expect(judge({ interface: "messages" }, answer(status, {}), true)).toMatchObject({ kind: "refused", by: "load" });
});
