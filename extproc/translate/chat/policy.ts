import { drop, emulate, map, reject, type Policy } from "../policy.ts";

/** Every top-level field. A field that is not listed is unknown to chat and is dropped by name: messages servers reject it. */
export const FIELD_POLICIES = [
  map("model", "the name on the model server; the client gets its own name back", "modelx-v4-pro"),
  map("messages", "system and turns; see the next table", [{ role: "user", content: "hello" }]),
  map("max_completion_tokens", "max_tokens; the model's own limit if the client sets none", 100),
  map("max_tokens", "max_tokens; the lower one if max_completion_tokens is set, too", 100),
  map("stream", "stream", true),
  map("stream_options", "include_usage decides whether the client sees a usage chunk", { include_usage: true }),
  map("temperature", "at most 1; dropped (listed) while thinking, which allows only 1", 0.5, {
    droppedBy: { rejects: ["temperature"] },
  }),
  map("top_p", "left out at 1, its default; dropped (listed) below 0.95 while thinking", 0.9, {
    droppedBy: { rejects: ["top_p"] },
  }),
  map("top_k", "unchanged; dropped (listed) while thinking", 40, { droppedBy: { rejects: ["top_k"] } }),
  map("stop", "stop_sequences; sequences of white space alone are dropped (listed)", ["END"], {
    droppedBy: { rejects: ["stop"] },
  }),
  map("tools", "tools; see the next table", [{ type: "function", function: { name: "g" } }]),
  map("tool_choice", "auto, any, tool or none; allowed_tools filters the tools", "required"),
  map("parallel_tool_calls", "false becomes disable_parallel_tool_use", false, {
    droppedBy: { rejects: ["parallel_tool_calls"] },
  }),
  map("functions", "tools, one call at a time; calls are returned as function_call", [{ name: "g" }]),
  map("function_call", "tool_choice", { name: "f" }),
  emulate(
    "response_format",
    "json_schema becomes output_config.format (see `jsonSchema`), json_object a line of the system prompt",
    {
      type: "json_object",
    },
  ),
  map("reasoning_effort", "thinking, with an effort or a budget, according to `thinkingControl`", "high", {
    droppedBy: { thinkingControl: "none" },
  }),
  map(
    "reasoning",
    "effort or max_tokens as thinking; exclude hides the reasoning",
    { effort: "low" },
    { droppedBy: { thinkingControl: "none" } },
  ),
  map("thinking", "thinking", { type: "enabled" }, { droppedBy: { thinkingControl: "none" } }),
  map(
    "chat_template_kwargs",
    "enable_thinking (or thinking) as thinking; other members have no counterpart",
    {
      enable_thinking: false,
    },
    { droppedBy: { thinkingControl: "none" } },
  ),
  map("user", "metadata.user_id; hashed if it could be an address or a phone number", "user-17"),
  map("safety_identifier", "metadata.user_id, unless user is set; unchanged for Responses servers", "user-17"),
  map("service_tier", "default becomes standard_only; auto is the default of both; others are dropped (listed)", "default"),
  map("prompt_cache_retention", "24h makes cache marks last an hour; unchanged for Responses servers", "24h"),
  map("prompt_cache_key", "unchanged for Responses servers", "key", {
    droppedBy: { accepts: [] },
    lostTo: { messages: "messages caches by content" },
  }),
  map("verbosity", "text.verbosity for Responses servers", "low", {
    neutral: ["medium"],
    droppedBy: { accepts: [] },
    lostTo: { messages: "no counterpart" },
  }),
  map("n", "1 only; larger values are refused", 1),
  drop("best_of", "one answer is generated, and returned", 2, [1]),
  reject("audio", "this model has no audio", { voice: "alloy", format: "wav" }),
  reject("modalities", "anything but text is refused", ["text", "audio"], [["text"], []]),
  reject("logprobs", "this model has no log probabilities", true, [false]),
  reject("top_logprobs", "this model has no log probabilities", 2, [0]),
  reject("web_search_options", "the gateway's prices cover tokens, not searches", {}),
  drop("frequency_penalty", "no counterpart", 0.5, [0]),
  drop("presence_penalty", "no counterpart", 0.5, [0]),
  drop("repetition_penalty", "no counterpart", 1.1, [1]),
  drop("min_p", "no counterpart", 0.1, [0]),
  drop("logit_bias", "no counterpart", { "50256": -100 }, [{}]),
  drop("seed", "the server does not support reproducible sampling", 7),
  drop("prediction", "only affects speed", { type: "content", content: "x" }),
  drop("store", "nothing is stored", true, [false]),
  drop("metadata", "belongs to stored answers", { a: "b" }, [{}]),
  drop("prompt_cache_options", "without breakpoints in the prompt, it could disable caching", { mode: "explicit" }, [{}]),
  drop("moderation", "no counterpart", { model: "m" }, [{}]),
] as const satisfies readonly Policy[];
