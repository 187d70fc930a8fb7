// Responses: how requests are built and events read. The gateway stores none, so the whole conversation is sent.
function itemsOf(turn) {
  switch (turn.role) {
    case "user": {
      const images = turn.images.map(({ url }) => ({ type: "input_image", image_url: url }));
      if (images.length === 0) return [{ role: "user", content: turn.text }];
      return [{ role: "user", content: [...images, { type: "input_text", text: turn.text }] }];
    }
    case "tool":
      return turn.results.map(({ id, content }) => ({ type: "function_call_output", call_id: id, output: content }));
    default:
      if (turn.native?.interface === "responses") return turn.native.items;
      return [
        ...(turn.text === "" ? [] : [{ role: "assistant", content: turn.text }]),
        ...turn.calls.map(({ id, name, parameters }) => ({ type: "function_call", call_id: id, name, arguments: parameters })),
      ];
  }
}

function readItem(turn, item) {
  turn.native.items.push(item);
  if (item.type === "function_call") turn.calls.push({ id: item.call_id, name: item.name, parameters: item.arguments });
}

function readEnd(turn, { usage, incomplete_details: incomplete }) {
  turn.stopReason = incomplete?.reason ?? "completed";
  if (usage == null) return;
  const { cached_tokens: cached = 0, cache_write_tokens: written = 0 } = usage.input_tokens_details ?? {};
  turn.usage = { input: usage.input_tokens - cached - written, cached, written, output: usage.output_tokens };
}

export const responses = {
  path: "/v1/responses",
  headers: {},
  body({ model, settings, turns }) {
    const { system, tools, effort, maxTokens, temperature, topP } = settings;
    return {
      model,
      ...(system === "" ? {} : { instructions: system }),
      input: turns.flatMap(itemsOf),
      store: false,
      ...(tools.length === 0
        ? {}
        : {
            tools: tools.map(({ name, description, schema }) => ({
              type: "function",
              name,
              description,
              parameters: schema,
              strict: false,
            })),
          }),
      ...(maxTokens === null ? {} : { max_output_tokens: maxTokens }),
      ...(temperature === null ? {} : { temperature }),
      ...(topP === null ? {} : { top_p: topP }),
      ...(effort === "" ? {} : { reasoning: { effort, summary: "auto" } }),
    };
  },
  // The only form in which reasoning can be sent back in the next turn.
  streamed: (body) => ({ ...body, stream: true, include: ["reasoning.encrypted_content"] }),
  read(event, turn) {
    turn.native ??= { interface: "responses", items: [] };
    switch (event.type) {
      case "response.output_text.delta":
        turn.text += event.delta;
        break;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        turn.thinking += event.delta;
        break;
      case "response.output_item.done":
        readItem(turn, event.item);
        break;
      case "response.completed":
      case "response.incomplete":
        readEnd(turn, event.response);
        break;
      case "response.failed":
        throw new Error(event.response.error?.message ?? "The model server failed.");
      case "error":
        throw new Error(event.message ?? event.error?.message);
      default:
    }
  },
};
