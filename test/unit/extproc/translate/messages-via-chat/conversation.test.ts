import { describe, expect, test } from "vitest";
import { chatFor, PLAIN, translate, turns } from "./chat.ts";

const use = (id: string, input: object = {}) => ({ type: "tool_use", id, name: "f", input });
const result = (id: string, content: unknown = "ok", rest: object = {}) => ({
  type: "tool_result",
  tool_use_id: id,
  content,
  ...rest,
});
const text = (value: string) => ({ type: "text", text: value });
const png = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
const refusedAt = (field: string) => expect.objectContaining({ code: "invalid_request", status: 400, field });

describe("tool results", () => {
  test("directly follow their calls, before the user's text, in order", () => {
    const { messages } = chatFor(
      turns(
        ["user", "go"],
        ["assistant", [use("a"), use("b")]],
        ["user", [result("b", "2"), result("a", "1"), text("and now?")]],
      ),
    );
    expect(messages.slice(2)).toEqual([
      { role: "tool", tool_call_id: "b", content: "2" },
      { role: "tool", tool_call_id: "a", content: "1" },
      { role: "user", content: "and now?" },
    ]);
  });

  test("may come in several messages, with a system message between", () => {
    const { messages } = chatFor(
      turns(
        ["user", "go"],
        ["assistant", [use("a"), use("b")]],
        ["user", [result("a")]],
        ["system", "note"],
        ["user", [result("b")]],
      ),
    );
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool", "system"]);
  });

  test("without content have an empty one: chat requires the member", () => {
    for (const content of ["", [], null, undefined]) {
      const { messages } = chatFor(
        turns(["user", "go"], ["assistant", [use("a")]], ["user", [{ type: "tool_result", tool_use_id: "a", content }]]),
      );
      expect(messages.at(-1)).toEqual({ role: "tool", tool_call_id: "a", content: "" });
    }
  });

  test("that are errors say so", () => {
    const { messages } = chatFor(
      turns(["user", "go"], ["assistant", [use("a")]], ["user", [result("a", "no such file", { is_error: true })]]),
    );
    expect(messages.at(-1)).toMatchObject({ content: "Error: no such file" });
  });

  test("that only look like errors don't", () => {
    const { messages } = chatFor(turns(["user", "go"], ["assistant", [use("a")]], ["user", [result("a", '{"error":"x"}')]]));
    expect(messages.at(-1)).toMatchObject({ content: '{"error":"x"}' });
  });

  test("with images are followed by one user message that contains all of them", () => {
    const { messages } = chatFor(
      turns(
        ["user", "go"],
        ["assistant", [use("a"), use("b")]],
        ["user", [result("a", [text("one"), png]), result("b", [png]), text("see?")]],
      ),
    );
    expect(messages.slice(2)).toEqual([
      { role: "tool", tool_call_id: "a", content: "one\n[image 1 attached below]" },
      { role: "tool", tool_call_id: "b", content: "[image 2 attached below]" },
      {
        role: "user",
        content: [
          text("[image 1]"),
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
          text("[image 2]"),
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
          text("see?"),
        ],
      },
    ]);
  });

  test("keep their images if the server accepts them there", () => {
    const { messages } = chatFor(turns(["user", "go"], ["assistant", [use("a")]], ["user", [result("a", [png])]]), {
      flags: { imageInToolResult: true },
    });
    expect(messages.at(-1)).toMatchObject({ role: "tool", content: [{ type: "image_url" }] });
  });

  test("missing, or for an unknown call, are refused by name", () => {
    const request = (...messages: [string, unknown][]) => ({ ...PLAIN, ...turns(...messages) });
    expect(() => translate(request(["user", "go"], ["assistant", [use("a"), use("b")]], ["user", [result("a")]]))).toThrow(
      refusedAt("messages[1]"),
    );
    expect(() => translate(request(["user", "go"], ["assistant", [use("a")]]), { profile: "vllm" })).toThrow(
      refusedAt("messages[1]"),
    );
    expect(() => translate(request(["user", [text("x"), result("a")]]))).toThrow(refusedAt("messages[0].content[1].tool_use_id"));
    expect(() =>
      translate(
        request(
          ["user", "go"],
          ["assistant", [use("a")]],
          ["user", [result("a")]],
          ["assistant", "done"],
          ["user", [result("a")]],
        ),
      ),
    ).toThrow(refusedAt("messages[4].content[0].tool_use_id"));
  });
});

test("cache marks inside tool results and documents are listed, empty requests for them are not", () => {
  const marked = [{ ...text("x"), cache_control: { type: "ephemeral" } }];
  const document = (enabled: boolean) => ({ type: "document", source: { type: "text", data: "x" }, citations: { enabled } });
  const within = turns(["user", "go"], ["assistant", [use("a")]], ["user", [result("a", marked)]]);
  expect(translate({ ...PLAIN, ...within }).dropped).toEqual(["messages.content.cache_control"]);
  expect(translate({ ...PLAIN, ...turns(["user", [document(true)]]) }).dropped).toEqual(["messages.content.citations"]);
  expect(translate({ ...PLAIN, ...turns(["user", [document(false)]]) }).dropped).toEqual([]);
});

describe("the assistant's turns", () => {
  test("contain text, thinking and calls in one message", () => {
    const blocks = [{ type: "thinking", thinking: "hm", signature: "s" }, text("I "), text("look."), use("a", { path: "x" })];
    const { messages } = chatFor(turns(["user", "go"], ["assistant", blocks], ["user", [result("a")]]));
    expect(messages[1]).toEqual({
      role: "assistant",
      content: "I look.",
      reasoning_content: "hm",
      tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: '{"path":"x"}' } }],
    });
  });

  test("without text have null next to calls, and an empty string without", () => {
    expect(chatFor(turns(["user", "go"], ["assistant", [use("a")]], ["user", [result("a")]])).messages[1]).toMatchObject({
      content: null,
    });
    expect(chatFor(turns(["user", "go"], ["assistant", []], ["user", "x"])).messages[1]).toEqual({
      role: "assistant",
      content: "",
    });
  });

  test("that are adjacent are merged, as Messages reads them", () => {
    const { messages } = chatFor(
      turns(["user", "go"], ["assistant", "I "], ["assistant", [text("look."), use("a")]], ["user", [result("a")]]),
    );
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(messages[1]).toMatchObject({ content: "I look." });
  });

  test("keep a tool input's digits, order and prototype names", () => {
    const input = '{"z": 12345678901234567890, "2": 1, "1": 2, "__proto__": {"constructor": 1.0}}';
    const request = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":${input}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`;
    const chat: unknown = JSON.parse(translate(request).upstream.body.toString());
    expect(chat).toMatchObject({ messages: [{}, { tool_calls: [{ function: { arguments: input } }] }, {}] });
  });

  test("return the upstream's own ids and invalid arguments to it", () => {
    const broken = use("toolu_gw0ZnVuY3Rpb25zLmY6MA", { _raw: "city: Rome" });
    const { messages } = chatFor(
      turns(["user", "go"], ["assistant", [broken]], ["user", [result("toolu_gw0ZnVuY3Rpb25zLmY6MA")]]),
    );
    expect(messages[1]).toMatchObject({ tool_calls: [{ id: "functions.f:0", function: { arguments: "city: Rome" } }] });
    expect(messages[2]).toMatchObject({ tool_call_id: "functions.f:0" });
  });

  test("have short ids for OpenAI, the same in call and result", () => {
    const id = "x".repeat(60);
    const { messages } = chatFor(turns(["user", "go"], ["assistant", [use(id)]], ["user", [result(id)]]), { profile: "openai" });
    const [call, answer] = [JSON.stringify(messages[1]), JSON.stringify(messages[2])];
    const short = /"id":"(call_[0-9a-f]{35})"/.exec(call)?.[1] ?? "none";
    expect(answer).toContain(`"tool_call_id":"${short}"`);
  });

  test("with invalid blocks are refused by name", () => {
    expect(() => translate({ ...PLAIN, ...turns(["user", "go"], ["assistant", [text("x"), png]], ["user", "y"]) })).toThrow(
      refusedAt("messages[1].content[1]"),
    );
    expect(() => translate({ ...PLAIN, ...turns(["user", [use("a")]]) })).toThrow(refusedAt("messages[0].content[0]"));
    expect(() => translate({ ...PLAIN, ...turns(["system", [png]], ["user", "y"]) }, { profile: "openai" })).toThrow(
      refusedAt("messages[0].content[0]"),
    );
  });
});

describe("thinking in the history", () => {
  const blocks = [{ type: "thinking", thinking: "hm", signature: "Z3cxOg==" }, text("Well.")];
  const history = turns(["user", "go"], ["assistant", blocks], ["user", "on"]);
  const tools = turns(["user", "go"], ["assistant", [use("a")]], ["user", [result("a")]]);

  test("uses the server's own field", () => {
    expect(chatFor(history).messages[1]).toHaveProperty("reasoning_content", "hm");
    expect(chatFor(history, { flags: { reasoningField: "reasoning" } }).messages[1]).toHaveProperty("reasoning", "hm");
  });

  test("goes with tool calls alone, even empty, if the server requires that", () => {
    expect(chatFor(history, { profile: "deepseek" }).messages[1]).not.toHaveProperty("reasoning_content");
    expect(chatFor(tools, { profile: "deepseek" }).messages[1]).toHaveProperty("reasoning_content", "");
  });

  test("is dropped and listed if the server accepts none", () => {
    expect(translate({ ...PLAIN, ...history }, { profile: "openai" }).dropped).toEqual(["messages.content.thinking"]);
  });

  test("hidden from the client leaves nothing", () => {
    const hidden = [{ type: "thinking", thinking: "", signature: "abc" }, text("Well.")];
    expect(chatFor(turns(["user", "go"], ["assistant", hidden], ["user", "on"])).messages[1]).toEqual({
      role: "assistant",
      content: "Well.",
    });
  });
});

describe("system messages in the conversation", () => {
  const request = turns(["user", "go"], ["assistant", [use("a")]], ["system", "note"], ["user", [result("a"), text("on")]]);

  test("stay in position, after the tool results", () => {
    const { messages } = chatFor({ ...request, system: "head" });
    expect(messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool", "system", "user"]);
  });

  test("become reminders if only the first message may be one", () => {
    const { messages } = chatFor(request, { profile: "vllm" });
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(messages.at(-1)?.content).toEqual([text("<system-reminder>\nnote\n</system-reminder>"), text("on")]);
  });

  test("join the tool result if the user says nothing", () => {
    const { messages } = chatFor(
      turns(["user", "go"], ["assistant", [use("a")]], ["user", [result("a", "1")]], ["system", "note"]),
      { profile: "vllm" },
    );
    expect(messages.at(-1)).toEqual({
      role: "tool",
      tool_call_id: "a",
      content: "1\n<system-reminder>\nnote\n</system-reminder>",
    });
  });

  test("become the user's text if there is nothing else", () => {
    const { messages } = chatFor(turns(["user", "go"], ["assistant", "ok"], ["system", "note"]), { profile: "vllm" });
    expect(messages.at(-1)).toEqual({ role: "user", content: "<system-reminder>\nnote\n</system-reminder>" });
  });

  test("at the beginning join the system prompt if only one is allowed", () => {
    const head = { ...turns(["system", "note"], ["user", "go"]), system: "head" };
    expect(chatFor(head, { profile: "vllm" }).messages).toEqual([
      { role: "system", content: "head\nnote" },
      { role: "user", content: "go" },
    ]);
  });
});

describe("reminders after tool results", () => {
  const reminder = "<system-reminder>\nbe brief\n</system-reminder>";
  const request = turns(["user", "go"], ["assistant", [use("a")]], ["user", [result("a", "1"), text(reminder)]]);

  test("join the last result for servers whose template discards reasoning after a user message", () => {
    expect(chatFor(request, { profile: "vllm" }).messages.at(-1)).toEqual({
      role: "tool",
      tool_call_id: "a",
      content: `1\n${reminder}`,
    });
  });

  test("become the user's text for others", () => {
    expect(chatFor(request).messages.at(-1)).toEqual({ role: "user", content: reminder });
  });
});
