import { expect, test } from "vitest";
import { answer, completion } from "./chat.ts";

test("a message counts in a complete answer, also beside the empty delta that Perplexity adds", () => {
  const delta = { role: "assistant", content: "" };
  expect(answer(completion({ content: "Good day." }, { delta }))).toMatchObject({
    content: [{ type: "text", text: "Good day." }],
    stop_reason: "end_turn",
  });
});
