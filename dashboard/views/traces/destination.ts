import { html } from "ghtml";
import type { TraceDestination } from "../../../ledger/traces/destinations.ts";
import type { FormState } from "../../http/form.ts";
import type { Member } from "../../session/visitor.ts";
import type { BatchResult } from "../../traces/answer.ts";
import { endpointOf } from "../../traces/send.ts";
import { confirmPage } from "../confirm.ts";
import { csrfField } from "../csrf-field.ts";
import { formProblem } from "../field.ts";
import { factTerms } from "../facts.ts";
import { layout } from "../layout.ts";
import { dueMoment, exactMoment, moment } from "../time.ts";
import { count, KIND_WORDS, langfuseFields, otlpFields, statusBadge, TRACES_PATH } from "./destinations.ts";
import { counted } from "../../counted.ts";

export interface DestinationView {
  visitor: Member;
  destination: TraceDestination;
  form: FormState;
  /** Prompts can be recorded. */
  hasContent: boolean;
  /** Of a test trace that was just sent. */
  testResult?: BatchResult | undefined;
}

export function destinationPage({ visitor, destination, form, hasContent, testResult }: DestinationView): string {
  const body = html`<p class="crumb"><a href="${TRACES_PATH}">Traces</a></p>
    <h1>${destination.name}</h1>
    <p><code>${endpointOf(destination)}</code> !${statusBadge(destination)}</p>
    !${testResult === undefined ? "" : testAnswer(testResult)} !${notes(destination)} !${buttons(visitor, destination)}
    !${facts(destination)} !${destination.kind === "other" ? "" : settings(visitor, destination, { form, hasContent })}`;
  return layout({ title: destination.name, visitor, path: TRACES_PATH, body });
}

function testAnswer(result: BatchResult): string {
  if (result.kind === "accepted") {
    const remark = result.remark === null ? "" : ` Its warning: ${result.remark}`;
    return html`<p class="alert" role="status">The server accepted the test trace, a span named “test”.${remark}</p>`;
  }
  return html`<p class="alert" role="alert">The test trace was not accepted. ${result.problem}</p>`;
}

function notes({ kind, disabledBy, failingSince, problem, remark, nextAttemptAt, skipped }: TraceDestination): string {
  const isFailing = disabledBy === null && failingSince !== null;
  const texts = [
    ...(disabledBy === "failures"
      ? [
          html`Disabled because its server accepted no traces for three days. Enable it once the server works again. Last error:
          ${problem ?? "unknown"}`,
        ]
      : []),
    ...(disabledBy !== null && disabledBy !== "failures" ? [html`Disabled: it receives no traces.`] : []),
    ...(kind === "other" ? ["This version of the gateway cannot send to destinations of this type."] : []),
    ...(isFailing
      ? [
          html`The server has accepted no traces since !${exactMoment(failingSince)}. After three days, the destination is
          disabled. Next attempt: !${dueMoment(nextAttemptAt)}. Last error: ${problem ?? "unknown"}`,
        ]
      : []),
    ...(disabledBy === null && !isFailing && remark !== null
      ? [html`The server accepted the last traces with a warning: ${remark}`]
      : []),
    ...(skipped > 0n
      ? [
          `${counted(skipped, "request")} ${skipped === 1n ? "was" : "were"} skipped, because too many were waiting or they had waited for more than three days.`,
        ]
      : []),
  ];
  return texts.map((text) => html`<p class="alert">!${text}</p>`).join("");
}

function buttons({ csrf }: Member, { id, kind, disabledBy }: TraceDestination): string {
  const path = `${TRACES_PATH}/${id}`;
  const enable = kind === "other" ? "" : html`<button class="primary" formaction="${path}/enable">Enable</button>`;
  const toggle = disabledBy === null ? html`<button formaction="${path}/disable">Disable</button>` : enable;
  return html`<form method="post" action="${path}/test" class="buttons">
    !${csrfField(csrf)}!${kind === "other" ? "" : html`<button>Send test trace</button>`} !${toggle}
    <a class="button quiet danger" href="${path}/delete" data-dialog>Delete destination</a>
  </form>`;
}

function facts(destination: TraceDestination): string {
  const { kind, headerNames, sent, rejected, skipped, waiting, acceptedAt } = destination;
  const terms: [string, string][] = [
    ["Type", KIND_WORDS[kind]],
    ["Prompts and answers", destination.includesContent ? "Sent, for keys that record them" : "Not sent"],
    ["Requests sent", count(sent)],
    ["Waiting", count(waiting)],
    ["Rejected by the server", count(rejected)],
    ["Skipped", count(skipped)],
    ["Last accepted", acceptedAt === null ? "–" : moment(acceptedAt)],
    ...(kind === "otlp" ? [headerFact(headerNames)] : []),
  ];
  return html`<section class="card">
    <dl class="facts">!${factTerms(terms)}</dl>
  </section>`;
}

function headerFact(names: readonly string[]): [string, string] {
  return ["Headers", names.length === 0 ? "–" : names.map((name) => html`<code>${name}</code>`).join(" ")];
}

function settings(
  { csrf }: Member,
  { id, kind, disabledBy }: TraceDestination,
  { form, hasContent }: Pick<DestinationView, "form" | "hasContent">,
): string {
  const options = { isNew: false, hasContent };
  const fields = kind === "otlp" ? otlpFields(form, options) : langfuseFields(form, options);
  return html`<form method="post" action="${TRACES_PATH}/${id}" class="card stack">
    <h2>Settings</h2>
    !${formProblem(form)} !${csrfField(csrf)} !${fields}
    <button class="${disabledBy === null ? "primary" : ""}">Save</button>
  </form>`;
}

export function deleteDestinationPage({ visitor, destination }: { visitor: Member; destination: TraceDestination }): string {
  const path = `${TRACES_PATH}/${destination.id}`;
  return confirmPage({
    visitor,
    path: TRACES_PATH,
    title: "Delete this destination?",
    body: html`<p>${destination.name}, <code>${endpointOf(destination)}</code></p>
      <p>It receives no more traces, not even those that are waiting. To pause it, disable it instead.</p>`,
    action: `${path}/delete`,
    button: "Delete destination",
    cancel: path,
  });
}
