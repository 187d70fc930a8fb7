import { html } from "ghtml";

/** A text to copy as a whole: a line for a shell, or a piece of code. */
export function copyable({ id, text, label }: { id: string; text: string; label: string }): string {
  return html`<div class="snippet">
    <pre id="${id}" tabindex="0" aria-label="${label}"><code>${text}</code></pre>
    <button type="button" class="copy" data-copy="${id}" hidden>Copy</button>
  </div>`;
}

export interface SnippetInput {
  baseUrl: string;
  /** The key's full value; null if it is not available, and comes from the environment. */
  key: string | null;
  chatModel: string;
  messagesModel: string;
}

/** Use of a key on both interfaces (S2). */
export function snippets({ baseUrl, key, chatModel, messagesModel }: SnippetInput): string {
  const inShell = key ?? "$MODEL_GATEWAY_API_KEY";
  const inCode = key === null ? "process.env.MODEL_GATEWAY_API_KEY" : `"${key}"`;
  const chat = `curl ${baseUrl}/v1/chat/completions \\
  -H "authorization: Bearer ${inShell}" \\
  -H 'content-type: application/json' \\
  -d '{"model":"${chatModel}","messages":[{"role":"user","content":"Hello"}]}'`;
  const messages = `curl ${baseUrl}/v1/messages \\
  -H "x-api-key: ${inShell}" -H 'anthropic-version: 2023-06-01' \\
  -H 'content-type: application/json' \\
  -d '{"model":"${messagesModel}","max_tokens":500,"messages":[{"role":"user","content":"Hello"}]}'`;
  const openai = `import OpenAI from "openai";
const client = new OpenAI({ baseURL: "${baseUrl}/v1", apiKey: ${inCode} });
const answer = await client.chat.completions.create({
  model: "${chatModel}",
  messages: [{ role: "user", content: "Hello" }],
});`;
  const anthropic = `import Anthropic from "@anthropic-ai/sdk";
const client = new Anthropic({ baseURL: "${baseUrl}", apiKey: ${inCode} });
const answer = await client.messages.create({
  model: "${messagesModel}",
  max_tokens: 500,
  messages: [{ role: "user", content: "Hello" }],
});`;
  const keyInPython = key === null ? 'os.environ["MODEL_GATEWAY_API_KEY"]' : `"${key}"`;
  const importOs = key === null ? "import os\n" : "";
  const openaiPython = `${importOs}from openai import OpenAI

client = OpenAI(base_url="${baseUrl}/v1", api_key=${keyInPython})
answer = client.chat.completions.create(
    model="${chatModel}",
    messages=[{"role": "user", "content": "Hello"}],
)`;
  const anthropicPython = `${importOs}from anthropic import Anthropic

client = Anthropic(base_url="${baseUrl}", api_key=${keyInPython})
answer = client.messages.create(
    model="${messagesModel}",
    max_tokens=500,
    messages=[{"role": "user", "content": "Hello"}],
)`;
  return [
    part("installer", "Set up a coding tool", `curl -fsSL ${baseUrl}/install.sh | sh`, true),
    part("curl-chat", "Chat completions, from a shell", chat, true),
    part("curl-messages", "Messages, from a shell", messages, true),
    part("sdk-openai-python", "OpenAI SDK, Python", openaiPython, false),
    part("sdk-openai", "OpenAI SDK, JavaScript", openai, false),
    part("sdk-anthropic-python", "Anthropic SDK, Python", anthropicPython, false),
    part("sdk-anthropic", "Anthropic SDK, JavaScript", anthropic, false),
  ].join("");
}

function part(id: string, title: string, text: string, isOpen: boolean): string {
  return html`<details !${isOpen ? "open" : ""}>
    <summary>${title}</summary>
    !${copyable({ id, text, label: title })}
  </details>`;
}
