import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createAnswerGate, type AnswerGate } from "../../../../extproc/guardrails/answer-gate.ts";
import type { Judgement } from "../../../../extproc/guardrails/guardrails.ts";
import { createShownAnswer } from "../../../../extproc/guardrails/shown-answer.ts";

/** Which part of a stream goes to its client when (S55). */
const event = (content: string) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content } }] })}\n\n`;
const DONE = "data: [DONE]\n\n";
const PASSED: Judgement = { kind: "passed" };
const REFUSED: Judgement = { kind: "refused", text: 0, categories: [] };

interface Question {
  texts: readonly string[];
  answer(judgement: Judgement): Promise<void>;
}

function open(window = { windowCharacters: 80, windowMs: 8_000 }) {
  const released: string[] = [];
  const questions: Question[] = [];
  const stopped: Judgement[] = [];
  const failures: unknown[] = [];
  const gate: AnswerGate = createAnswerGate({
    window,
    shown: createShownAnswer("chat", { requestId: "r", model: "m", wantsUsage: false }),
    check(texts) {
      const { promise, resolve } = Promise.withResolvers<Judgement>();
      questions.push({
        texts,
        async answer(judgement) {
          resolve(judgement);
          await promise;
        },
      });
      return promise;
    },
    release: (bytes) => released.push(bytes.toString()),
    stop: (judgement) => stopped.push(judgement),
    fail: (thrown) => failures.push(thrown),
    run: (work) => work(),
  });
  const take = (...events: readonly string[]) => gate.take(Buffer.from(events.join("")));
  return { gate, take, released, questions, stopped, failures };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("events without text pass at once, text with its window", async () => {
  const { take, released, questions } = open();
  take(event(""), ": comment\n\n");
  expect(released.join("")).toBe(event("") + ": comment\n\n");
  take(event(""), event("ten chars."));
  expect(released.join("")).toBe(event("") + ": comment\n\n" + event(""));
  expect(questions.map(({ texts }) => texts)).toEqual([["ten chars."]]);
  await questions[0]?.answer(PASSED);
  expect(released.at(-1)).toBe(event("ten chars."));
});

test("windows double from an eighth to the whole, by characters and by time", async () => {
  const { take, questions } = open();
  take(event("9 letters"));
  expect(questions).toHaveLength(0);
  vi.advanceTimersByTime(999);
  expect(questions).toHaveLength(0);
  vi.advanceTimersByTime(1);
  expect(questions).toHaveLength(1);
  await questions[0]?.answer(PASSED);
  take(event("x".repeat(19)));
  expect(questions).toHaveLength(1);
  take(event("y"));
  expect(questions).toHaveLength(2);
  await questions[1]?.answer(PASSED);
  take(event("z"));
  vi.advanceTimersByTime(3_999);
  expect(questions).toHaveLength(2);
  vi.advanceTimersByTime(1);
  expect(questions).toHaveLength(3);
});

test("while a window is checked the next one fills, and nothing overtakes", async () => {
  const { gate, take, released, questions } = open();
  take(event("a".repeat(10)));
  take(event("b".repeat(100)), event(""));
  expect(released).toEqual([]);
  expect(questions).toHaveLength(1);
  await questions[0]?.answer(PASSED);
  expect(released).toEqual([event("a".repeat(10))]);
  expect(questions[1]?.texts).toEqual(["a".repeat(10) + "b".repeat(100)]);
  await questions[1]?.answer(PASSED);
  expect(released[1]).toBe(event("b".repeat(100)) + event(""));
  expect(gate.heldBytes()).toBe(0);
});

test("the end is called when everything has passed", async () => {
  const { gate, take, released, questions } = open();
  const onPassed = vi.fn<() => void>();
  take(event("a".repeat(10)), event("b"), DONE);
  gate.end(onPassed);
  expect(onPassed).not.toHaveBeenCalled();
  await questions[0]?.answer(PASSED);
  expect(onPassed).toHaveBeenCalledOnce();
  expect(released.join("")).toBe(event("a".repeat(10)) + event("b") + DONE);
});

test("after a refusal nothing goes out", async () => {
  const { gate, take, released, questions, stopped } = open();
  const onPassed = vi.fn<() => void>();
  take(event("a".repeat(10)));
  take(event("b"));
  await questions[0]?.answer(REFUSED);
  expect(stopped).toEqual([REFUSED]);
  take(event("c".repeat(100)), DONE);
  gate.end(onPassed);
  vi.advanceTimersByTime(60_000);
  expect({ released, questions: questions.length, held: gate.heldBytes() }).toEqual({ released: [], questions: 1, held: 0 });
  expect(onPassed).not.toHaveBeenCalled();
});

test("what passes is what came, however it is cut into outputs", async () => {
  const events = Array.from({ length: 60 }, (_, at) =>
    at % 7 === 3 ? ": comment\r\n\r\n" : event(at % 5 === 0 ? "" : `word${at} `),
  );
  for (let size = 1; size < 9; size++) {
    const { gate, take, released, questions } = open();
    const onPassed = vi.fn<() => void>();
    for (let at = 0; at < events.length; at += size) take(...events.slice(at, at + size));
    take(DONE);
    gate.end(onPassed);
    for (let asked = 0; asked < questions.length; asked++) await questions[asked]?.answer(PASSED);
    expect(onPassed).toHaveBeenCalledOnce();
    expect(released.join("")).toBe(events.join("") + DONE);
  }
});

test("part of an event is text", () => {
  const { take, released, questions } = open();
  take(": comment\n", 'data: {"choices":[{"delta":{"content":"half');
  expect(released).toEqual([]);
  expect(questions[0]?.texts.join()).toContain("half");
});

test("a closed gate takes no notice of a late verdict", async () => {
  const { gate, take, released, questions, stopped } = open();
  take(event("a".repeat(10)));
  gate.close();
  await questions[0]?.answer(REFUSED);
  expect({ released, stopped }).toEqual({ released: [], stopped: [] });
});
