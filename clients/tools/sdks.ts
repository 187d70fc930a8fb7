import { statement } from "../setting.ts";
import type { ServedTool, Setting } from "../tool.ts";

/** Shell files that a program's start script sources: the SDKs have no settings file. */
function exported(name: string, value: string): Setting {
  return statement(name, [`export ${name}=${value}`]);
}

const AFTERWARDS = "Put this into the shell, or the script, that starts your program:";

export const openaiSdk: ServedTool = {
  kind: "served",
  id: "openai-sdk",
  name: "OpenAI SDKs",
  tried: { registry: "PyPI", package: "openai", version: "3.52.0" },
  interfaces: ["chat"],
  commands: [],
  folders: [],
  files: [
    {
      interface: "chat",
      format: "env",
      folderVariable: "XDG_CONFIG_HOME",
      folder: ".config",
      names: ["model-gateway/openai.sh"],
      settings: [
        exported("OPENAI_BASE_URL", "@base@/v1"),
        exported("OPENAI_API_KEY", "@key@"),
        exported("OPENAI_MODEL", "@model@"),
        // They send headers that name another service's organisation.
        exported("OPENAI_ORG_ID", ""),
        exported("OPENAI_PROJECT_ID", ""),
      ],
    },
  ],
  clear: [],
  check: `python3 -c 'import openai, os; print(openai.OpenAI().chat.completions.create(model=os.environ["OPENAI_MODEL"], messages=[{"role": "user", "content": "Say hello."}]).choices[0].message.content)'`,
  afterwards: [AFTERWARDS, ". ~/.config/model-gateway/openai.sh"],
  limits: [
    "The SDKs do not read OPENAI_MODEL: your program must pass it as the model's name.",
    "The Vercel AI SDK's `openai(model)` speaks the Responses interface, and from its second turn on refers to earlier items by id. That works with Models that store responses (`spec.responses.storeHours`, off by default). With any other Model, set `providerOptions: { openai: { store: false } }`, or use `openai.chat(model)`.",
    "The same holds for `previous_response_id` in OpenAI's SDKs: without stored responses, send the whole conversation in `input`.",
  ],
  otherHosts: [],
};

export const anthropicSdk: ServedTool = {
  kind: "served",
  id: "anthropic-sdk",
  name: "Anthropic SDKs",
  tried: { registry: "PyPI", package: "anthropic", version: "2.11.0" },
  interfaces: ["messages"],
  commands: [],
  folders: [],
  files: [
    {
      interface: "messages",
      format: "env",
      folderVariable: "XDG_CONFIG_HOME",
      folder: ".config",
      names: ["model-gateway/anthropic.sh"],
      settings: [
        exported("ANTHROPIC_BASE_URL", "@base@"),
        exported("ANTHROPIC_API_KEY", "@key@"),
        exported("ANTHROPIC_MODEL", "@model@"),
        statement("ANTHROPIC_AUTH_TOKEN", ["unset ANTHROPIC_AUTH_TOKEN"]),
      ],
    },
  ],
  clear: [],
  check: `python3 -c 'import anthropic, os; print(anthropic.Anthropic().messages.create(model=os.environ["ANTHROPIC_MODEL"], max_tokens=100, messages=[{"role": "user", "content": "Say hello."}]).content[0].text)'`,
  afterwards: [AFTERWARDS, ". ~/.config/model-gateway/anthropic.sh"],
  limits: [
    "The SDKs do not read ANTHROPIC_MODEL: your program must pass it as the model's name.",
    "The Vercel AI SDK expects the address with `/v1`: pass createAnthropic a baseURL that ends in it.",
    "LangChain for JavaScript may show no input tokens for a stream: it reads them only from the first event.",
  ],
  otherHosts: [],
};
