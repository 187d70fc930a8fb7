import { html } from "ghtml";
import { FIRST_REQUESTS, LANGUAGE_NAMES, LANGUAGES } from "../first-requests.ts";
import { INTERFACE_NAMES } from "../interface-names.ts";
import type { ExampleModels } from "./choose-models.ts";

/** A text to copy as a whole: a line for a shell, or a piece of code. */
export function copyable({ id, text, label }: { id: string; text: string; label: string }): string {
  return html`<div class="snippet">
    <pre id="${id}" tabindex="0" aria-label="${label}"><code>${text}</code></pre>
    <button type="button" class="copy" data-copy="${id}" aria-live="polite" hidden>
      Copy<span class="hidden"> ${label}</span>
    </button>
  </div>`;
}

export interface SnippetInput extends ExampleModels {
  baseUrl: string;
  /** The key's full value; null if it is not available, and comes from the environment. */
  key: string | null;
}

/** Use of a key on both interfaces (S2), or on those that are served. */
export function snippets(input: SnippetInput): string {
  const { baseUrl, hasConversation, chatModel, messagesModel } = input;
  const ofChat = chatModel === undefined ? undefined : chatCode(input, chatModel);
  const ofMessages = messagesModel === undefined ? undefined : messagesCode(input, messagesModel);
  return [
    hasConversation ? part("installer", "Set up a coding tool", `curl -fsSL ${baseUrl}/install.sh | sh`, true) : "",
    ofChat === undefined ? "" : part("curl-chat", "Chat completions, from a shell", ofChat.shell, true),
    ofMessages === undefined ? "" : part("curl-messages", "Messages, from a shell", ofMessages.shell, true),
    ofChat === undefined ? "" : part("sdk-openai-python", "OpenAI SDK, Python", ofChat.python, false),
    ofChat === undefined ? "" : part("sdk-openai", "OpenAI SDK, JavaScript", ofChat.javascript, false),
    ofMessages === undefined ? "" : part("sdk-anthropic-python", "Anthropic SDK, Python", ofMessages.python, false),
    ofMessages === undefined ? "" : part("sdk-anthropic", "Anthropic SDK, JavaScript", ofMessages.javascript, false),
    ...otherParts(input),
  ].join("");
}

type Code = Record<"shell" | "python" | "javascript", string>;

function chatCode({ baseUrl, key }: SnippetInput, model: string): Code {
  return {
    shell: `curl ${baseUrl}/v1/chat/completions \\
  -H "authorization: Bearer ${inShell(key)}" \\
  -H 'content-type: application/json' \\
  -d '{"model":"${model}","messages":[{"role":"user","content":"Hello"}]}'`,
    python: `${importOs(key)}from openai import OpenAI

client = OpenAI(base_url="${baseUrl}/v1", api_key=${inPython(key)})
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)`,
    javascript: `import OpenAI from "openai";
const client = new OpenAI({ baseURL: "${baseUrl}/v1", apiKey: ${inScript(key)} });
const answer = await client.chat.completions.create({
  model: "${model}",
  messages: [{ role: "user", content: "Hello" }],
});`,
  };
}

function messagesCode({ baseUrl, key }: SnippetInput, model: string): Code {
  return {
    shell: `curl ${baseUrl}/v1/messages \\
  -H "x-api-key: ${inShell(key)}" -H 'anthropic-version: 2023-06-01' \\
  -H 'content-type: application/json' \\
  -d '{"model":"${model}","max_tokens":500,"messages":[{"role":"user","content":"Hello"}]}'`,
    python: `${importOs(key)}from anthropic import Anthropic

client = Anthropic(base_url="${baseUrl}", api_key=${inPython(key)})
answer = client.messages.create(
    model="${model}",
    max_tokens=500,
    messages=[{"role": "user", "content": "Hello"}],
)`,
    javascript: `import Anthropic from "@anthropic-ai/sdk";
const client = new Anthropic({ baseURL: "${baseUrl}", apiKey: ${inScript(key)} });
const answer = await client.messages.create({
  model: "${model}",
  max_tokens: 500,
  messages: [{ role: "user", content: "Hello" }],
});`,
  };
}

/** With the key from the environment. */
function otherParts({ baseUrl, others }: SnippetInput): string[] {
  return others.flatMap(({ client, model }) =>
    LANGUAGES.map((language) => {
      const title = `${INTERFACE_NAMES[client]}, ${language === "curl" ? "from a shell" : LANGUAGE_NAMES[language]}`;
      return part(`${language}-${client}`, title, FIRST_REQUESTS[language][client]({ baseUrl, model }), language === "curl");
    }),
  );
}

const inShell = (key: string | null) => key ?? "$MODEL_GATEWAY_API_KEY";
const inScript = (key: string | null) => (key === null ? "process.env.MODEL_GATEWAY_API_KEY" : `"${key}"`);
const inPython = (key: string | null) => (key === null ? 'os.environ["MODEL_GATEWAY_API_KEY"]' : `"${key}"`);
const importOs = (key: string | null) => (key === null ? "import os\n" : "");

function part(id: string, title: string, text: string, isOpen: boolean): string {
  return html`<details !${isOpen ? "open" : ""}>
    <summary>${title}</summary>
    !${copyable({ id, text, label: title })}
  </details>`;
}
