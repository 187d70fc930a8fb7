import { html } from "ghtml";
import { guideOf, type GuideInput, type Part } from "../../clients/guide.ts";
import { TOOLS } from "../../clients/table.ts";
import type { Tool } from "../../clients/tool.ts";
import type { Member } from "../session/visitor.ts";
import { INTERFACE_NAMES } from "./interface-names.ts";
import { layout } from "./layout.ts";
import { copyable } from "./keys/snippets.ts";
import { responsiveTable } from "./responsive-table.ts";

const PATH = "/dashboard/clients";

/** Every known tool, and the set-up of the supported ones. */
export function clientsPage({ visitor, baseUrl }: { visitor: Member | null; baseUrl: string }): string {
  const body = html`<h1>Tools</h1>
    <p>
      Any client that takes a base URL, a key and a model name works: use <code>${baseUrl}/v1</code> for OpenAI clients and
      <code>${baseUrl}</code> for Anthropic clients. The installer sets up the coding tools that it finds on your machine:
    </p>
    !${copyable({ id: "installer", text: `curl -fsSL ${baseUrl}/install.sh | sh`, label: "Installer command" })}
    <p class="muted">
      It asks for your key, sends it only to this service, and writes it into the tools' own settings.
      <code class="nowrap">--uninstall</code> restores them. Instructions for agents:
      <a href="/install.md">${baseUrl}/install.md</a>
    </p>
    !${responsiveTable(["Tool", "Interfaces", "Setup"], TOOLS.map(row))}`;
  return layout({ title: "Tools", visitor, path: PATH, body });
}

function row(tool: Tool): string {
  const interfaces = tool.kind === "unserved" ? "–" : tool.interfaces.map((each) => INTERFACE_NAMES[each]).join(", ");
  return html`<tr>
    <th scope="row" data-label="Tool"><a href="${PATH}/${tool.id}">${tool.name}</a></th>
    <td data-label="Interfaces">${interfaces}</td>
    <td data-label="Setup">${{ served: "Installer", manual: "Manual", unserved: "Not supported" }[tool.kind]}</td>
  </tr>`;
}

/** A tool's page, with this service's address and models in the text. */
export function clientPage({ visitor, tool, input }: { visitor: Member | null; tool: Tool; input: GuideInput }): string {
  const { title, lead, sections } = guideOf(tool, input);
  const body = html`<p class="crumb"><a href="${PATH}">Tools</a></p>
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
