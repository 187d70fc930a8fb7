import { expect, test } from "vitest";
import { PROFILES } from "../../../../../contract/profile.ts";
import { holdPrompt } from "../../../../../extproc/meter/held-prompt.ts";
import { parseBody } from "../../../../../extproc/protocol/json/parse-body.ts";
import { refuseUnpriced } from "../../../../../extproc/translate/passthrough/unpriced-features.ts";

const bodyWith = (fields: object) =>
  parseBody(Buffer.from(JSON.stringify({ model: "m", messages: [], ...fields })), {
    headers: new Map([["content-type", "application/json"]]),
    interface: "chat",
  });
const { generic } = PROFILES;

const HELLO = { role: "user", content: "hi" };
const added = (definition: object) => ({
  role: "user",
  content: [
    { type: "text", text: "hi" },
    { type: "tool_addition", tool: { type: "tool_definition", definition } },
  ],
});

const billed: [string, object][] = [
  ["web_search_options", { web_search_options: {} }],
  ["search_parameters", { search_parameters: { mode: "on" } }],
  ["enable_search", { enable_search: true }],
  ["plugins", { plugins: [{ id: "web" }] }],
  ["tools[0].type", { tools: [{ type: "web_search" }] }],
  ["tools[0].type", { tools: [{ type: "builtin_function", function: { name: "$web_search" } }] }],
  ["tools[1].type", { tools: [{ type: "function", function: { name: "f" } }, { type: "code_interpreter" }] }],
  ["tools[0].type", { tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 50 }] }],
  ["tools[0].type", { tools: [{ type: "code_execution_20250825", name: "code_execution" }] }],
  ["tools[0].type", { tools: [{ type: ["web_search"] }] }],
  ["tools[0].type", { tools: [{ type: "shell" }] }],
  ["tools[0].type", { tools: [{ type: "shell", environment: { type: "container_auto" } }] }],
  ["tools[0].type", { tools: [{ type: "shell", environment: "local" }] }],
  ["tools[0].tools[1].type", { tools: [{ type: "namespace", tools: [{ type: "function" }, { type: "web_search" }] }] }],
  // Defined in the middle of a conversation.
  [
    "messages[1].content[1].tool.definition.type",
    { messages: [HELLO, added({ type: "web_search_20260318", name: "web_search" })] },
  ],
  [
    "messages[0].content[0].tool_changes[0].tool.definition.type",
    {
      messages: [
        { role: "user", content: [{ type: "compaction", tool_changes: added({ type: "advisor_20260301" }).content.slice(1) }] },
      ],
    },
  ],
  ["messages[0].tools[0].type", { messages: [{ role: "system", tools: [{ type: "builtin_function" }] }, HELLO] }],
  [
    "input[1].tools[0].type",
    { input: [HELLO, { type: "additional_tools", role: "developer", tools: [{ type: "web_search" }] }] },
  ],
  ["input[0].tools[1].type", { input: [{ type: "tool_search_output", tools: [{ type: "function" }, { type: "mcp" }] }] }],
];

test.for(billed)("%s of %j is billed in addition to tokens, and refused by name", ([field, fields]) => {
  const refuse = () => refuseUnpriced(bodyWith(fields), { profile: generic });
  expect(refuse).toThrow(expect.objectContaining({ code: "invalid_request", field }));
});

test.for(billed)("%s of %j passes if an administrator allows unpriced features", ([, fields]) => {
  expect(() => refuseUnpriced(bodyWith(fields), { profile: { ...generic, unpricedFeatures: true } })).not.toThrow();
});

test.for([
  {},
  { tools: null, plugins: null, web_search_options: null, enable_search: false },
  {
    tools: [
      { type: "function", function: { name: "web_search" } },
      { type: "custom", custom: { name: "f" } },
    ],
  },
  {
    tools: [
      { name: "f", input_schema: {} },
      { type: "custom", name: "g" },
    ],
  },
  { tools: [{ type: "bash_20250124", name: "bash" }] },
  { tools: [{ type: "computer_20250124", name: "computer" }] },
  { tools: [{ type: "computer" }] },
  { tools: [{ type: "computer_toolset_20260801" }, { type: "browser_toolset_20260801" }] },
  { tools: [{ type: "shell", environment: { type: "local" } }] },
  { tools: [{ type: "tool_search" }, { type: "function", name: "f", defer_loading: true }] },
  { tools: [{ type: "tool_search", execution: "client", parameters: {} }] },
  { tools: [{ type: "web_fetch_20250910", name: "web_fetch" }] },
  { tools: [{ type: "tool_search_tool_regex_20251119", name: "search" }] },
  { messages: [HELLO, added({ name: "f", input_schema: {} }), added({ type: "bash_20250124", name: "bash" })] },
  { messages: [{ role: "user", content: [{ type: "tool_addition", tool: { type: "tool_reference", name: "f" } }] }] },
  { messages: [{ role: "assistant", content: [{ type: "mcp_tool_listing", tools: [{ name: "f", input_schema: {} }] }] }] },
  { input: [HELLO, { type: "additional_tools", role: "developer", tools: [{ type: "function", name: "f" }] }] },
  { input: [{ type: "mcp_list_tools", tools: [{ name: "f", input_schema: {} }] }] },
  { mcp_servers: [{ type: "url", url: "https://x", name: "x" }], tools: [{ type: "mcp_toolset", mcp_server_name: "x" }] },
])("%j costs only tokens", (fields) => {
  expect(() => refuseUnpriced(bodyWith(fields), { profile: generic })).not.toThrow();
});

test("namespaces inside each other are refused, however deep, and cannot exhaust the stack", () => {
  const depth = 30_000;
  const tools = `[${'{"type":"namespace","tools":['.repeat(depth)}${"]}".repeat(depth)}]`;
  const body = parseBody(Buffer.from(`{"model":"m","messages":[],"tools":${tools}}`), { headers: new Map(), interface: "chat" });
  expect(() => refuseUnpriced(body, { profile: generic })).toThrow(expect.objectContaining({ field: "tools[0].tools[0].type" }));
});

test("a shell in the server's containers is refused with the environment in which it would pass", () => {
  const refuse = () => refuseUnpriced(bodyWith({ tools: [{ type: "shell" }] }), { profile: generic });
  expect(refuse).toThrow('its `environment` must be `{"type": "local"}`');
});

test("the tools of a request are looked at once, for its hold and for its price", () => {
  let looks = 0;
  const look = () => ((looks += 1), "function");
  const body = bodyWith({ tools: [{ type: "function", function: { name: "f" } }] });
  const [tool] = Array.isArray(body.outline["tools"]) ? body.outline["tools"] : [];
  Object.defineProperty(tool, "type", { get: look });
  holdPrompt(body, null);
  const once = looks;
  refuseUnpriced(body, { profile: generic });
  expect({ once, looks }).toEqual({ once: expect.toSatisfy((count) => count > 0), looks: once });
});
