/** A message as it is when its stream begins. */
export function emptyMessage(inputTokens: number) {
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    usage: { input_tokens: inputTokens, output_tokens: 1 },
  };
}
