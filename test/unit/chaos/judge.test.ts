import { expect, test } from "vitest";
import type { Booked } from "../../chaos/books.ts";
import { judge, type Case } from "../../chaos/judge.ts";
import type { ProcessFault } from "../../chaos/process-faults.ts";
import { answerTo } from "../../chaos/question.ts";
import type { Delivery } from "../../chaos/delivery.ts";
import { UPSTREAM_FAULTS } from "../../chaos/upstream-faults.ts";

/** The chaos run is only as good as what it finds fault with. */
const question = { number: 7, interface: "chat", model: "single-chat", isStream: true, fault: "none", words: 8 } as const;
const answer = answerTo(question);
const usage = { inputTokens: 12, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 8, reasoningTokens: 0 };
const delivery: Delivery = { number: 7, requestId: "id", sentBytes: Buffer.byteLength(answer), usage };
const booked: Booked = { outcome: "complete", isEstimated: false, usage, chargeNanoUsd: 44_000n, dueNanoUsd: 44_000n };
const seen: Case["seen"] = {
  result: "answered",
  status: 200,
  requestId: "id",
  codes: [],
  hasRetryAfter: false,
  text: answer,
  hasGarbage: false,
  startedMs: 0,
  endedMs: 10,
  faults: [],
};
const whole: Case = {
  question,
  fault: faultOf("none"),
  manner: "reads on",
  hasSpare: false,
  isThin: false,
  seen,
  deliveries: [delivery],
  booked: [booked],
  disturbances: [],
};
const cut: Case = {
  ...whole,
  fault: faultOf("reset in the answer"),
  seen: { ...seen, result: "broken", text: answer.slice(0, 16) },
  deliveries: [{ ...delivery, sentBytes: 20 }],
  booked: [{ ...booked, outcome: "truncated", usage: { ...usage, outputTokens: 5 } }],
};
const refused: Case = {
  ...whole,
  fault: faultOf("429"),
  seen: { ...seen, result: "refused", status: 429, codes: ["rate_limited"], text: "" },
  booked: [
    { ...booked, outcome: "failed", usage: { ...usage, inputTokens: 0, outputTokens: 0 }, chargeNanoUsd: 0n, dueNanoUsd: 0n },
  ],
};
const extprocKilled: ProcessFault = {
  name: "extproc killed",
  member: "extproc",
  kind: "killed",
  fromMs: 0,
  untilMs: 5,
};

function faultOf(name: string): Case["fault"] {
  const fault = UPSTREAM_FAULTS.find((each) => each.name === name);
  if (fault === undefined) throw new Error(`there is no fault ${name}`);
  return fault;
}

test.for([
  ["answered whole and booked to the token", whole],
  ["cut, and what came is booked", cut],
  ["refused and free", refused],
  ["refused before it reached a model server", { ...refused, deliveries: [], booked: [] }],
  [
    "cut by a dying extproc, and lost",
    { ...cut, disturbances: [extprocKilled], booked: [{ ...booked, outcome: "lost", usage: { ...usage, outputTokens: 2 } }] },
  ],
] as const)("%s: accounted for", ([, each]) => {
  expect(judge(each)).toEqual([]);
});

test.for<[string, Case]>([
  ["an answer without usage", { ...whole, booked: [] }],
  ["an answer that is booked twice", { ...whole, booked: [booked, booked] }],
  ["one token too many booked", { ...whole, booked: [{ ...booked, usage: { ...usage, outputTokens: 9 } }] }],
  ["an answer by our own count", { ...whole, booked: [{ ...booked, isEstimated: true }] }],
  ["a charge that is not tokens times price", { ...whole, booked: [{ ...booked, chargeNanoUsd: 44_001n }] }],
  ["a charge without a model server", { ...whole, deliveries: [] }],
  ["another caller's answer", { ...whole, seen: { ...seen, text: answerTo({ number: 8, words: 8 }) } }],
  ["half an answer that looks whole", { ...whole, seen: { ...seen, text: answer.slice(0, 16) } }],
  ["an answer that the usage calls broken", { ...whole, booked: [{ ...booked, outcome: "truncated" }] }],
  ["a broken answer that the usage calls complete", { ...cut, booked: [booked] }],
  [
    "less booked than the caller got",
    { ...cut, booked: [{ ...booked, outcome: "truncated", usage: { ...usage, outputTokens: 3 } }] },
  ],
  ["more booked than was sent", { ...cut, booked: [{ ...booked, outcome: "truncated", usage: { ...usage, outputTokens: 6 } }] }],
  ["a refusal that costs", { ...refused, booked: [{ ...booked, outcome: "failed" }] }],
  ["a refusal of another kind", { ...refused, seen: { ...refused.seen, status: 500, codes: ["internal_error"] } }],
  ["a refusal although a spare server is there", { ...refused, hasSpare: true }],
  ["a good request that is broken", { ...cut, fault: faultOf("none") }],
  ["what its caller saw and must never see", { ...whole, seen: { ...seen, faults: ["a stream without its end looks whole"] } }],
  ["garbage of a server that sent none", { ...cut, seen: { ...cut.seen, hasGarbage: true } }],
])("%s: unexplained", ([, each]) => {
  expect(judge(each)).not.toEqual([]);
});
