import { html } from "ghtml";
import type { Operation, Reference } from "../../reference/document.ts";
import { fieldsOf, typeOf, type Field } from "../../reference/fields.ts";
import type { Member } from "../../session/visitor.ts";
import { docsPage } from "./docs.ts";
import { inlineCode } from "./inline-code.ts";

export interface ReferenceView {
  visitor: Member | null;
  title: string;
  path: string;
  /** HTML: how a request authenticates. */
  lead: string;
  /** HTML (`operationsHtml`). */
  operations: string;
  /** Address of the document, for programs. */
  source: string;
}

/** All operations of an API on one page, rendered here: readers need no script, and the content security policy stays strict. */
export function referencePage({ visitor, title, path, lead, operations, source }: ReferenceView): string {
  const body = html`!${lead}
    <p><a href="${source}">OpenAPI description</a></p>
    !${operations}`;
  return docsPage({ visitor, title, path, body });
}

/** Takes tens of milliseconds, and is the same for every reader. */
export function operationsHtml(reference: Reference): string {
  const { operations, tags } = reference;
  const groups = [...new Set(operations.map(({ tag }) => tag))].map((tag) => ({
    tag,
    description: tags.find(({ name }) => name === tag)?.description,
    members: operations.filter((each) => each.tag === tag),
  }));
  return groups
    .map(
      ({ tag, description, members }) =>
        html`<section>
          <h2>${tag.charAt(0).toUpperCase() + tag.slice(1)}</h2>
          !${description === undefined ? "" : html`<p class="muted">!${inlineCode(description)}</p>`}
          !${members.map((each) => operationHtml(reference, each))}
        </section>`,
    )
    .join("");
}

function operationHtml(reference: Reference, operation: Operation): string {
  const { method, path, summary, description, parameters, body, responses } = operation;
  const id = `${method}-${path}`
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/-$/, "");
  const asked = parameters.map((each) => ({
    name: each.name,
    type: `${typeOf(reference, each.schema)}, ${each.in}`,
    isRequired: each.isRequired,
    description: each.description,
  }));
  return html`<details class="operation" id="${id}">
    <summary>
      <span class="badge">${method}</span> <code>${path}</code> <span class="muted">!${inlineCode(summary)}</span>
    </summary>
    !${description === undefined ? "" : html`<p>!${inlineCode(description)}</p>`} !${fields("Parameters", asked)}
    !${body === undefined ? "" : fields("Request body", fieldsOf(reference, body))}
    <h4>Responses</h4>
    !${responsesHtml(reference, responses)}
  </details>`;
}

/** Errors look alike: statuses with the same text share a line, and only a success shows its fields. */
function responsesHtml(reference: Reference, responses: Operation["responses"]): string {
  const descriptions = [...new Set(responses.map(({ description }) => description))];
  return descriptions
    .map((description) => {
      const members = responses.filter((each) => each.description === description);
      const success = members.find(({ status, schema }) => status.startsWith("2") && schema !== undefined)?.schema;
      const statuses = members.map(({ status }) => html`<code>${status === "default" ? "other" : status}</code>`).join(", ");
      return html`<p>!${statuses}: !${inlineCode(description)}</p>
        !${success === undefined ? "" : fields("", fieldsOf(reference, success))}`;
    })
    .join("");
}

function fields(title: string, list: readonly Field[]): string {
  if (list.length === 0) return "";
  return html`!${title === "" ? "" : html`<h4>${title}</h4>`}
    <dl class="fields">
      !${list.map(
        ({ name, type, isRequired, description }) =>
          html`<div>
            <dt><code>${name}</code> <span class="muted small">${type}${isRequired ? ", required" : ""}</span></dt>
            !${description === undefined ? "" : html`<dd>!${inlineCode(description)}</dd>`}
          </div>`,
      )}
    </dl>`;
}
