import { drop, map, reject, type Policy } from "../policy.ts";

/** Every top-level field. A field that is not listed is unknown to messages and is dropped by name. */
export const FIELD_POLICIES = [
  map("model", "the name on the model server; the client gets its own name back", "modelx-v4-pro"),
  map("max_tokens", "max_tokens or max_completion_tokens, at most the model's own limit", 100),
  map("messages", "system, user, assistant and tool messages; see the next table", [{ role: "user", content: "hello" }]),
  map("system", "one leading system message; coding agents' billing line is removed", "be brief"),
  map("stream", "stream, and stream_options.include_usage", true),
  map("temperature", "unchanged", 0.5, { droppedBy: { rejects: ["temperature"] } }),
  map("top_p", "unchanged", 0.9, { droppedBy: { rejects: ["top_p"] } }),
  map("top_k", "unchanged", 40, { droppedBy: { rejects: ["top_k"] } }),
  map("stop_sequences", "stop; more than the server accepts (`maxStopSequences`) are refused", ["END"], {
    droppedBy: { rejects: ["stop"] },
  }),
  map("tools", "functions; see the next table", [{ name: "f", input_schema: { type: "object" } }]),
  map("tool_choice", "auto, required, a function or none; omitted if there are no tools", { type: "any" }),
  map(
    "thinking",
    "the server's own switch (`thinkingControl`), or the effort word next to the budget",
    { type: "enabled", budget_tokens: 2048 },
    { droppedBy: { thinkingControl: "none" } },
  ),
  map(
    "output_config",
    "effort as reasoning_effort; format as response_format, see output_format",
    { effort: "high" },
    { droppedBy: { thinkingControl: "none" } },
  ),
  map("output_format", "response_format json_schema; or json_object or an instruction, as `jsonSchema` sets", {
    type: "json_schema",
    schema: { type: "object" },
  }),
  map("metadata", "user_id as user, hashed when longer than 64", { user_id: "user-17" }, { droppedBy: { rejects: ["user"] } }),
  map("service_tier", "standard_only as default", "standard_only", { droppedBy: { rejects: ["service_tier"] } }),
  drop("cache_control", "chat servers cache prefixes automatically", { type: "ephemeral" }),
  drop("context_management", "the client sends the context that it wants", { edits: [] }),
  drop("fallbacks", "the gateway chooses the backend", [{ model: "x" }]),
  drop("fallback_credit_token", "a token of the messages service itself", "token"),
  drop("billing_policy", "the gateway bills by its own prices", {}),
  drop("speed", "a backend has one speed", "fast", ["standard"]),
  drop("inference_geo", "the operator chooses where a model runs", "eu"),
  drop("diagnostics", "asks the messages service about itself", {}),
  drop("task_budget", "a hint, not a limit", {}),
  drop("betas", "change how the messages service works", ["some-beta"]),
  drop("user_profile_id", "an id of the messages service itself", "profile"),
  drop("workspace_id", "an id of the messages service itself", "workspace"),
  reject("mcp_servers", "they run on the messages service; connect to them from the client", [{ type: "url", url: "https://x" }]),
  reject("container", "containers exist only on the messages service", "container_1"),
  reject("compaction", "only the messages service makes a compaction block. Ask for a summary in a message", {
    type: "summarize",
  }),
  reject("thread", "the messages service keeps the first part of the conversation", { id: "thread_1" }),
] as const satisfies readonly Policy[];
