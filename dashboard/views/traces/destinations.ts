import { html } from "ghtml";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import type { OrOther } from "../../../ledger/postgres/known-or-other.ts";
import type { DestinationKind, TraceDestination } from "../../../ledger/traces/destinations.ts";
import { EMPTY_FORM, type FormState } from "../../http/form.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { csrfField } from "../csrf-field.ts";
import { empty } from "../empty.ts";
import { field, formProblem, textArea } from "../field.ts";
import { layout } from "../layout.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { moment } from "../time.ts";

export const TRACES_PATH = "/dashboard/trace-destinations";

export const KIND_WORDS: Readonly<Record<OrOther<DestinationKind>, string>> = {
  otlp: "OpenTelemetry",
  langfuse: "Langfuse",
  other: "Other",
};

export interface DestinationsView {
  visitor: Member;
  /** Empty for those who may not see them. */
  destinations: readonly TraceDestination[];
  /** Prompts can be recorded. */
  hasContent: boolean;
  /** A refused form, and which of the two it is. */
  refused?: { kind: DestinationKind; form: FormState } | undefined;
}

export function destinationsPage({ visitor, destinations, hasContent, refused }: DestinationsView): string {
  const mayManage = isAllowed(visitor.membership.role, "manageTraces");
  const note = mayManage ? "" : "Only owners of this account can see and manage its trace destinations.";
  const body = html`<h1>Traces</h1>
    <p class="muted">
      Send every request of this account to your own observability system, over
      <a href="https://opentelemetry.io/docs/specs/otlp/">OTLP</a>. Each request becomes a span with its model, tokens, cost,
      duration, key and tags, named according to OpenTelemetry's conventions for generative AI.
    </p>
    !${destinations.length === 0 ? empty(mayManage ? "No destinations yet" : "Owners only", { note }) : table(destinations)}
    !${mayManage ? addForms(visitor, { destinations, hasContent, refused }) : ""}`;
  return layout({ title: "Traces", visitor, path: TRACES_PATH, body });
}

function table(destinations: readonly TraceDestination[]): string {
  const rows = destinations.map(
    (destination) =>
      html`<tr>
        <th scope="row" data-label="Destination">
          <span
            ><a href="${TRACES_PATH}/${destination.id}">!${clipped(destination.name)}</a
            ><span class="sub">!${clipped(new URL(destination.url).host)}</span></span
          >
        </th>
        <td data-label="Type">${KIND_WORDS[destination.kind]}</td>
        <td data-label="Status">!${statusBadge(destination)}</td>
        <td data-label="Sent" class="number">${count(destination.sent)}</td>
        <td data-label="Waiting" class="number">${count(destination.waiting)}</td>
        <td data-label="Last accepted">!${destination.acceptedAt === null ? "–" : moment(destination.acceptedAt)}</td>
      </tr>`,
  );
  const heads = ["Destination", "Type", "Status", { number: "Sent" }, { number: "Waiting" }, "Last accepted"];
  return responsiveTable(heads, rows, "wide");
}

export function count(requests: bigint): string {
  return requests.toLocaleString("en-US");
}

export function statusBadge({ disabledBy, failingSince }: Pick<TraceDestination, "disabledBy" | "failingSince">): string {
  if (disabledBy === "failures") return html`<span class="badge failed" title="Accepted no traces for three days">Failed</span>`;
  if (disabledBy !== null) return html`<span class="badge disabled">Disabled</span>`;
  return failingSince === null
    ? html`<span class="badge active">Active</span>`
    : html`<span class="badge warn" title="The server does not accept traces">Failing</span>`;
}

function addForms(visitor: Member, { destinations, hasContent, refused }: Omit<DestinationsView, "visitor">): string {
  if (destinations.length >= ACCOUNT_BOUNDS.traceDestinations)
    return html`<p class="muted">This account has ${ACCOUNT_BOUNDS.traceDestinations} trace destinations, the maximum.</p>`;
  const formOf = (kind: DestinationKind, values: Record<string, string>): FormState =>
    refused?.kind === kind ? refused.form : { ...EMPTY_FORM, values };
  const forms = { otlp: formOf("otlp", {}), langfuse: formOf("langfuse", { name: KIND_WORDS.langfuse }) };
  const options = { isNew: true, hasContent };
  return html`!${addForm(visitor, "otlp", otlpFields(forms.otlp, options), forms.otlp)}
  !${addForm(visitor, "langfuse", langfuseFields(forms.langfuse, options), forms.langfuse)}`;
}

function addForm({ csrf }: Member, kind: DestinationKind, fields: string, form: FormState): string {
  return html`<form method="post" action="${TRACES_PATH}" class="card stack">
    <h2>Add ${KIND_WORDS[kind]}</h2>
    !${formProblem(form)} !${csrfField(csrf)}
    <input type="hidden" name="kind" value="${kind}" />
    !${fields}
    <button>Add ${KIND_WORDS[kind]}</button>
  </form>`;
}

const STORED = "Stored encrypted and never shown again.";

export interface FieldOptions {
  /** False: what is stored stays unless it is entered again. */
  isNew: boolean;
  /** Prompts can be recorded. */
  hasContent: boolean;
}

export function otlpFields(form: FormState, { isNew, hasContent }: FieldOptions): string {
  const example = "For example “authorization: Bearer …”.";
  const headers = {
    name: "secret_headers",
    label: isNew ? "Headers" : "Replace headers",
    rows: 3,
    help: `One per line, as “name: value”. ${example} ${STORED}${isNew ? "" : " Leave empty to keep the stored ones."}`,
  };
  return html`!${field({ name: "name", id: "otlp-name", label: "Name", isRequired: true }, form)}
  !${field(
    {
      name: "url",
      id: "otlp-url",
      label: "Traces endpoint",
      placeholder: "https://otlp.example.com/v1/traces",
      help: "OTLP over HTTP. Without a path, /v1/traces is added.",
      isRequired: true,
    },
    form,
  )}
  !${textArea(headers, form)} !${hasContent ? contentField(form) : ""}`;
}

export function langfuseFields(form: FormState, { isNew, hasContent }: FieldOptions): string {
  const keep = isNew ? STORED : `${STORED} Leave both empty to keep the stored ones.`;
  return html`!${field({ name: "name", id: "langfuse-name", label: "Name", isRequired: true }, form)}
  !${field(
    {
      name: "url",
      id: "langfuse-url",
      label: "Langfuse address",
      placeholder: "https://cloud.langfuse.com",
      help: "Your project's region, or your own server.",
      isRequired: true,
    },
    form,
  )}
  !${field({ name: "public_key", label: isNew ? "Public key" : "New public key", placeholder: "pk-lf-…", isRequired: isNew }, form)}
  !${field({ name: "secret_key", label: isNew ? "Secret key" : "New secret key", type: "password", help: keep, isRequired: isNew }, form)}
  !${hasContent ? contentField(form) : ""}`;
}

function contentField({ values }: FormState): string {
  const isOn = (values["include_content"] ?? "") !== "";
  return html`<div>
    <label class="check"
      ><input type="checkbox" name="include_content" value="yes" !${isOn ? "checked" : ""} />Send prompts and answers too</label
    >
    <p class="help">Only for API keys that record prompts. Anyone with access to that system can then read them.</p>
  </div>`;
}
