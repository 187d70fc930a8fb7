import { html } from "ghtml";
import { guideOf, INTERFACE_NAMES, type GuideInput, type Part } from "../../clients/guide.ts";
import { TOOLS } from "../../clients/table.ts";
import type { Tool } from "../../clients/tool.ts";
import type { Member } from "../session/visitor.ts";
import { layout } from "./layout.ts";
import { copyable } from "./keys/snippets.ts";

const PATH = "/dashboard/clients";

/** Every tool that is known, and how to set up those that are here. */
export function clientsPage({ visitor, baseUrl }: { visitor: Member | null; baseUrl: string }): string {
  const body = html`<h1>Tools</h1>
    <p>
      Any client that can set a base address, a key and a model’s name works: <code>${baseUrl}/v1</code> for OpenAI-style ones,
      <code>${baseUrl}</code> for Anthropic-style ones. This sets up the coding tools that it finds on your machine:
    </p>
    !${copyable({ id: "installer", text: `curl -fsSL ${baseUrl}/install.sh | sh`, label: "The installer" })}
    <p class="muted">
      It asks for your key, sends it to this service alone, and writes it into the tools’ own settings; with
      <code>--uninstall</code> everything goes back. For an agent: <a href="/install.md">${baseUrl}/install.md</a>
    </p>
    <table class="responsive">
      <thead>
        <tr>
          <th scope="col">Tool</th>
          <th scope="col">Interfaces</th>
          <th scope="col">Set up</th>
        </tr>
      </thead>
      <tbody>
        !${TOOLS.map(row).join("")}
      </tbody>
    </table>`;
  return layout({ title: "Tools", visitor, path: PATH, body });
}

function row(tool: Tool): string {
  const interfaces = tool.kind === "unserved" ? "–" : tool.interfaces.map((each) => INTERFACE_NAMES[each]).join(", ");
  return html`<tr>
    <th scope="row" data-label="Tool"><a href="${PATH}/${tool.id}">${tool.name}</a></th>
    <td data-label="Interfaces">${interfaces}</td>
    <td data-label="Set up">${{ served: "by the installer", manual: "by hand", unserved: "not possible" }[tool.kind]}</td>
  </tr>`;
}

/** One tool's page, with this service's address and models in the text. */
export function clientPage({ visitor, tool, input }: { visitor: Member | null; tool: Tool; input: GuideInput }): string {
  const { title, lead, sections } = guideOf(tool, input);
  const body = html`<p><a href="${PATH}">All tools</a></p>
    <h1>${title}</h1>
    <p>${lead}</p>
    !${sections.map(({ heading, parts }, index) => section(heading, parts, `part-${index}`)).join("")}`;
  return layout({ title, visitor, path: PATH, body });
}

function section(heading: string, parts: readonly Part[], id: string): string {
  return html`<section aria-labelledby="${id}">
    <h2 id="${id}">${heading}</h2>
    !${parts.map((part, index) => partHtml(part, `${id}-${index}`, heading)).join("")}
  </section>`;
}

function partHtml(part: Part, id: string, label: string): string {
  switch (part.kind) {
    case "text":
      return html`<p>${part.text}</p>`;
    case "list":
      return html`<ul>
        !${part.items.map((item) => html`<li>${item}</li>`).join("")}
      </ul>`;
    case "code":
      return copyable({ id, text: part.text, label });
  }
}
