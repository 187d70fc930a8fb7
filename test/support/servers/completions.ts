/** A good answer of a model server that speaks chat completions: three words, with usage that can be true. */
export function makeCompletion(): string {
  return JSON.stringify({
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", content: "one two three" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 5, completion_tokens: 4 },
  });
}

/** The same, streamed. */
export function makeCompletionStream(): string {
  const chunks = [
    { choices: [{ index: 0, delta: { role: "assistant", content: "one two three" }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { choices: [], usage: { prompt_tokens: 5, completion_tokens: 4 } },
  ];
  const head = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
  return `${chunks.map((chunk) => `data: ${JSON.stringify({ ...head, ...chunk })}\n\n`).join("")}data: [DONE]\n\n`;
}
