// Messages: how requests are built and events read.
function imageBlock({ url }) {
  const [, type, data] = /^data:([^;]+);base64,(.*)$/.exec(url);
  return { type: "image", source: { type: "base64", media_type: type, data } };
}

function blocksOf(turn) {
  switch (turn.role) {
    case "user":
      return [...turn.images.map(imageBlock), ...(turn.text === "" ? [] : [{ type: "text", text: turn.text }])];
    case "tool":
      return turn.results.map(({ id, content }) => ({ type: "tool_result", tool_use_id: id, content }));
    default:
      if (turn.native?.interface === "messages") return turn.native.blocks;
      return [
        ...(turn.text === "" ? [] : [{ type: "text", text: turn.text }]),
        ...turn.calls.map(({ id, name, parameters }) => ({ type: "tool_use", id, name, input: JSON.parse(parameters || "{}") })),
      ];
  }
}

/** A single plain text is written as a string, as people do. */
function message(turn) {
  const blocks = blocksOf(turn);
  const isPlain = blocks.length === 1 && blocks[0].type === "text";
  return { role: turn.role === "assistant" ? "assistant" : "user", content: isPlain ? blocks[0].text : blocks };
}

function thinking(effort) {
  if (effort === "") return {};
  return effort === "none" ? { thinking: { type: "disabled" } } : { thinking: { type: "adaptive" }, output_config: { effort } };
}

/** Usage fields arrive when they are known: the input at the start, the output at the end. */
function readUsage(turn, usage) {
  const before = turn.usage ?? {};
  turn.usage = {
    input: usage.input_tokens ?? before.input ?? 0,
    cached: usage.cache_read_input_tokens ?? before.cached ?? 0,
    written: usage.cache_creation_input_tokens ?? before.written ?? 0,
    output: usage.output_tokens ?? before.output ?? 0,
  };
}

function readDelta(turn, block, delta) {
  switch (delta.type) {
    case "text_delta":
      block.text += delta.text;
      turn.text += delta.text;
      break;
    case "thinking_delta":
      block.thinking += delta.thinking;
      turn.thinking += delta.thinking;
      break;
    case "signature_delta":
      block.signature = (block.signature ?? "") + delta.signature;
      break;
    case "input_json_delta":
      turn.calls.at(-1).parameters += delta.partial_json;
      break;
    default:
  }
}

export const messages = {
  path: "/v1/messages",
  headers: { "anthropic-version": "2023-06-01" },
  body({ model, settings, turns }) {
    const { system, tools, effort, maxTokens, temperature, topP } = settings;
    return {
      model,
      // The one field that this protocol requires.
      max_tokens: maxTokens ?? 4096,
      ...(system === "" ? {} : { system }),
      messages: turns.map(message),
      ...(tools.length === 0
        ? {}
        : { tools: tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema })) }),
      ...(temperature === null ? {} : { temperature }),
      ...(topP === null ? {} : { top_p: topP }),
      ...thinking(effort),
    };
  },
  streamed: (body) => ({ ...body, stream: true }),
  read(event, turn) {
    turn.native ??= { interface: "messages", blocks: [] };
    const { blocks } = turn.native;
    switch (event.type) {
      case "message_start":
        readUsage(turn, event.message.usage ?? {});
        break;
      case "content_block_start":
        blocks[event.index] = { ...event.content_block };
        if (event.content_block.type === "tool_use")
          turn.calls.push({ id: event.content_block.id, name: event.content_block.name, parameters: "" });
        if (event.content_block.type === "text") turn.text += event.content_block.text ?? "";
        break;
      case "content_block_delta":
        readDelta(turn, blocks[event.index], event.delta);
        break;
      case "content_block_stop":
        if (blocks[event.index]?.type === "tool_use")
          blocks[event.index].input = JSON.parse(turn.calls.at(-1).parameters || "{}");
        break;
      case "message_delta":
        if (event.delta?.stop_reason != null) turn.stopReason = event.delta.stop_reason;
        readUsage(turn, event.usage ?? {});
        break;
      default:
    }
  },
};
