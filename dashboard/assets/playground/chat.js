// Chat completions: how requests are built and events read.
const imagePart = ({ url }) => ({ type: "image_url", image_url: { url } });

function message(turn) {
  switch (turn.role) {
    case "user": {
      if (turn.images.length === 0) return [{ role: "user", content: turn.text }];
      return [{ role: "user", content: [...turn.images.map(imagePart), { type: "text", text: turn.text }] }];
    }
    case "tool":
      return turn.results.map(({ id, content }) => ({ role: "tool", tool_call_id: id, content }));
    default:
      return [
        {
          role: "assistant",
          content: turn.text,
          ...(turn.thinking === "" ? {} : { reasoning_content: turn.thinking }),
          // Thinking that its server signed is sent back unchanged.
          ...(turn.native?.interface === "chat" && turn.native.details.length > 0
            ? { reasoning_details: turn.native.details }
            : {}),
          ...(turn.calls.length === 0
            ? {}
            : {
                tool_calls: turn.calls.map(({ id, name, parameters }) => ({
                  id,
                  type: "function",
                  function: { name, arguments: parameters },
                })),
              }),
        },
      ];
  }
}

export const chat = {
  path: "/v1/chat/completions",
  headers: {},
  body({ model, settings, turns }) {
    const { system, tools, effort, maxTokens, temperature, topP } = settings;
    return {
      model,
      messages: [...(system === "" ? [] : [{ role: "system", content: system }]), ...turns.flatMap(message)],
      ...(tools.length === 0
        ? {}
        : {
            tools: tools.map(({ name, description, schema }) => ({
              type: "function",
              function: { name, description, parameters: schema },
            })),
          }),
      ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
      ...(temperature === null ? {} : { temperature }),
      ...(topP === null ? {} : { top_p: topP }),
      ...(effort === "" ? {} : { reasoning_effort: effort }),
    };
  },
  streamed: (body) => ({ ...body, stream: true, stream_options: { include_usage: true } }),
  read(event, turn) {
    const choice = event.choices?.[0];
    const delta = choice?.delta ?? {};
    turn.text += delta.content ?? "";
    turn.thinking += delta.reasoning_content ?? delta.reasoning ?? "";
    turn.native ??= { interface: "chat", details: [] };
    turn.native.details.push(...(delta.reasoning_details ?? []));
    for (const { index, id, function: called } of delta.tool_calls ?? []) {
      turn.calls[index] ??= { id, name: "", parameters: "" };
      turn.calls[index].name += called?.name ?? "";
      turn.calls[index].parameters += called?.arguments ?? "";
    }
    if (choice?.finish_reason != null) turn.stopReason = choice.finish_reason;
    if (event.usage == null) return;
    const { cached_tokens: cached = 0, cache_write_tokens: written = 0 } = event.usage.prompt_tokens_details ?? {};
    const input = event.usage.prompt_tokens - cached - written;
    turn.usage = { input, cached, written, output: event.usage.completion_tokens };
  },
};
