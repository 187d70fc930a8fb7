import { html } from "ghtml";
import type { NamedKey } from "../../../ledger/keys/key-list.ts";
import type { RecordedText } from "../../../ledger/prompt-log/content.ts";
import type { ListedRecord, PromptRecord } from "../../../ledger/prompt-log/records.ts";
import { INTERFACES } from "../../../contract/protocol.ts";
import { readAnswer, readRequest, type Transcript } from "../../prompt-log/transcript/transcript.ts";
import type { Member } from "../../session/visitor.ts";
import { confirmPage } from "../confirm.ts";
import { empty } from "../empty.ts";
import { grouped } from "../figures.ts";
import { INTERFACE_NAMES } from "../interface-names.ts";
import { factTerms } from "../facts.ts";
import { layout } from "../layout.ts";
import { olderLink } from "../older-link.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { exactMoment, logMoment, moment } from "../time.ts";
import { transcriptParts } from "./transcript.ts";

export const PROMPT_LOG_PATH = "/dashboard/prompt-log";
const LOGS = "/dashboard/usage/requests";

export interface PromptLogView {
  visitor: Member;
  /** Newest first. */
  records: readonly ListedRecord[];
  /** Id of the last one, if older ones follow. */
  next: string | null;
  /** To choose one of them. */
  keys: readonly NamedKey[];
  /** Id of the only key shown. */
  keyId: string | undefined;
  /** The operator of the service lets accounts record prompts. */
  hasPromptLog: boolean;
}

const ABOUT = html`<p class="muted">
  Prompts and answers of keys with a prompt log, for debugging. Only owners of this account can see this page. The
  <a href="/dashboard/settings/activity">audit log</a> shows who opened which record.
</p>`;

const OFF = html`<p class="alert" role="status">
  The operator of this service has turned the prompt log off: nothing is recorded.
</p>`;

export function promptLogPage(view: PromptLogView): string {
  const { visitor, records, next, keyId, hasPromptLog } = view;
  const older = { ...(keyId === undefined ? {} : { key: keyId }), after: next ?? "" };
  const body = html`<p class="crumb"><a href="${LOGS}">Logs</a></p>
    <h1>Prompt log</h1>
    !${ABOUT} !${hasPromptLog ? "" : OFF} !${keyFilter(view)} !${records.length === 0 ? NOTHING : table(records)}
    !${next === null ? "" : olderLink(PROMPT_LOG_PATH, older, "Older prompts")}`;
  return layout({ title: "Prompt log", visitor, path: LOGS, body });
}

const NOTHING = empty("No recorded prompts", {
  note: "Turn on the prompt log on a key's page. Requests with that key then appear here once they have ended.",
  more: '<a class="button" href="/dashboard/keys">View API keys</a>',
});

function keyFilter({ keys, keyId }: PromptLogView): string {
  const options = keys.map(
    ({ publicId, name }) => html`<option value="${publicId}" !${publicId === keyId ? "selected" : ""}>${name}</option>`,
  );
  return html`<form method="get" action="${PROMPT_LOG_PATH}" class="filters">
    <label
      ><span class="hidden">Key</span
      ><select name="key">
        <option value="">All keys</option>
        !${options.join("")}
      </select></label
    >
    <button>Filter</button>
    !${keyId === undefined ? "" : html`<a href="/dashboard/keys/${keyId}">Key</a>`}
  </form>`;
}

function table(records: readonly ListedRecord[]): string {
  const rows = records.map((record) => {
    const { requestId, keyName, startedAt, expiresAt, model, requestBytes, answerBytes } = record;
    return html`<tr>
      <th scope="row" data-label="Time (UTC)">
        <a href="${PROMPT_LOG_PATH}/${requestId}">!${logMoment(startedAt)}</a>
      </th>
      <td data-label="Model">
        <span>!${clipped(model ?? "Unknown")}<span class="sub">${interfaceName(record)}</span></span>
      </td>
      <td data-label="Key">!${clipped(keyName)}</td>
      <td data-label="Status">!${badge(record)}</td>
      <td data-label="Request" class="number">${bytes(requestBytes)}</td>
      <td data-label="Answer" class="number">${bytes(answerBytes)}</td>
      <td data-label="Expires">!${moment(expiresAt)}</td>
    </tr>`;
  });
  return responsiveTable(
    ["Time (UTC)", "Model", "Key", "Status", { number: "Request" }, { number: "Answer" }, "Expires"],
    rows,
    "widest",
  );
}

function interfaceName({ interface: client, isStream }: ListedRecord): string {
  const known = INTERFACES.find((name) => name === client);
  return `${known === undefined ? client : INTERFACE_NAMES[known]}${isStream ? ", streamed" : ""}`;
}

function badge({ status, isWhole }: ListedRecord): string {
  if (status === null) return html`<span class="badge">No answer</span>`;
  const isGood = status < 400;
  const sub = isWhole ? "" : html` <span class="sub" title="The client disconnected, or the connection broke">Cut off</span>`;
  return html`<span><span class="badge ${isGood ? "active" : "disabled"}">${status}</span>!${sub}</span>`;
}

function bytes(count: number): string {
  if (count < 1_000) return `${count} B`;
  const kilobytes = count / 1_000;
  return kilobytes < 1_000 ? `${grouped(kilobytes.toFixed(1))} kB` : `${grouped((kilobytes / 1_000).toFixed(1))} MB`;
}

export interface PromptView {
  visitor: Member;
  record: PromptRecord;
  /** The request is in the usage log. */
  isListed: boolean;
}

export function promptPage({ visitor, record, isListed }: PromptView): string {
  const { requestId, keyId, keyName, startedAt, expiresAt, model, content, interface: client } = record;
  const path = `${PROMPT_LOG_PATH}/${requestId}`;
  const { request, answer } = content;
  const facts: [string, string][] = [
    ["Time", exactMoment(startedAt)],
    ["Key", html`<a href="/dashboard/keys/${keyId}">${keyName}</a>`],
    ["Model", html`${model ?? "Unknown"}`],
    ["Interface", html`${interfaceName(record)}`],
    ["Status", badge(record)],
    ["Expires", exactMoment(expiresAt)],
  ];
  const body = html`<p class="crumb"><a href="${PROMPT_LOG_PATH}">Prompt log</a></p>
    <h1>Prompt and answer</h1>
    <p>
      !${isListed ? html`<a href="${LOGS}/${requestId}"><code class="wrap">${requestId}</code></a>` : html`<code class="wrap">${requestId}</code>`}
    </p>
    <dl class="facts card">!${factTerms(facts)}</dl>
    !${side({ title: "Request", text: request, transcript: readRequest(request, client), file: `${path}/request` })}
    !${answer === null ? NO_ANSWER : side({ title: "Answer", text: answer, transcript: readAnswer(answer, client), file: `${path}/answer` })}
    <p class="buttons"><a class="button danger" href="${path}/delete" data-dialog>Delete this record</a></p>`;
  return layout({ title: "Prompt and answer", visitor, path: LOGS, body });
}

export function confirmDeletePromptPage({ visitor, requestId }: { visitor: Member; requestId: string }): string {
  const path = `${PROMPT_LOG_PATH}/${requestId}`;
  return confirmPage({
    visitor,
    path: LOGS,
    title: "Delete this prompt and its answer?",
    body: html`<p><code class="wrap">${requestId}</code></p>`,
    action: `${path}/delete`,
    button: "Delete",
    cancel: path,
  });
}

const NO_ANSWER = html`<section class="card">
  <h2>Answer</h2>
  <p class="muted">None. The client disconnected before an answer arrived.</p>
</section>`;

interface Side {
  title: "Request" | "Answer";
  text: RecordedText;
  transcript: Transcript;
  file: string;
}

function side({ title, text, transcript, file }: Side): string {
  const cut = `This is the beginning of ${grouped(String(text.bytes))} bytes: the rest was not recorded.`;
  return html`<section class="card transcript">
    <h2>${title}</h2>
    !${text.isCut ? html`<p class="alert" role="status">${cut}</p>` : ""}
    !${transcriptParts({ id: title.toLowerCase(), transcript, file })}
  </section>`;
}
