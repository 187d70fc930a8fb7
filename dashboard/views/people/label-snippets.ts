import { html } from "ghtml";
import { copyable } from "../keys/snippets.ts";

const SNIPPETS = [
  {
    id: "tags-python",
    title: "OpenAI SDK, Python",
    text: `client = OpenAI(default_headers={"x-gateway-tags": "team=search, env=prod"})
client.chat.completions.create(
    model="…",
    messages=[{"role": "user", "content": "Hello"}],
    safety_identifier="customer-4711",
)`,
  },
  {
    id: "tags-javascript",
    title: "Anthropic SDK, JavaScript",
    text: `const client = new Anthropic({ defaultHeaders: { "x-gateway-tags": "team=search, env=prod" } });
await client.messages.create({
  model: "…",
  max_tokens: 500,
  messages: [{ role: "user", content: "Hello" }],
  metadata: { user_id: "customer-4711" },
});`,
  },
  { id: "tags-curl", title: "curl", text: `-H 'x-gateway-tags: team=search, env=prod'` },
  {
    id: "tags-claude-code",
    title: "Claude Code",
    text: `export ANTHROPIC_CUSTOM_HEADERS='x-gateway-tags: team=search, user=ann'`,
  },
] as const;

/** How requests carry tags and an end user. */
export function labelSnippets(): string {
  const parts = SNIPPETS.map(
    ({ id, title, text }) =>
      html`<p>${title}</p>
        !${copyable({ id, text, label: title })}`,
  );
  return html`<details>
    <summary>How to send them</summary>
    !${parts.join("")}
    <p class="muted small">
      Chat completions and Responses also take tags from <code>metadata</code>, and the end user from
      <code>safety_identifier</code> or <code>user</code>; Embeddings and Rerank take it from <code>user</code>.
    </p>
  </details>`;
}
