import { html } from "ghtml";
import type { Batch } from "../../../ledger/batches/batches.ts";
import type { NamedKey } from "../../../ledger/keys/key-list.ts";
import { endpointOf, statusOf, type BatchStatus } from "../../batches/shapes.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { confirmPage } from "../confirm.ts";
import { empty } from "../empty.ts";
import { figure, grouped, usd } from "../figures.ts";
import { INTERFACE_NAMES } from "../interface-names.ts";
import { factTerms } from "../facts.ts";
import { layout } from "../layout.ts";
import { olderLink } from "../older-link.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { exactMoment, moment } from "../time.ts";

export const BATCHES_PATH = "/dashboard/batches";

export interface BatchesView {
  visitor: Member;
  /** Newest first. */
  batches: readonly Batch[];
  /** Id of the last one, if older ones follow. */
  next: string | null;
  keys: readonly NamedKey[];
}

const ABOUT = html`<p class="muted">
  A batch is a set of requests that you send together. They are answered within 24 hours, often at a lower price. Create batches
  with an API key: at <code>/v1/batches</code> in OpenAI's format, or at <code>/v1/messages/batches</code> in Anthropic's.
</p>`;

export function batchesPage({ visitor, batches, next, keys }: BatchesView): string {
  const body = html`<h1>Batches</h1>
    !${ABOUT}
    !${
      batches.length === 0
        ? empty("No batches yet", {
            note: "A model's page says whether it accepts batches, and at what price.",
            more: '<a class="button" href="/dashboard/models">View models</a>',
          })
        : table(batches, keys)
    }
    !${next === null ? "" : olderLink(BATCHES_PATH, { after: next }, "Older batches")}`;
  return layout({ title: "Batches", visitor, path: BATCHES_PATH, body });
}

function table(batches: readonly Batch[], keys: readonly NamedKey[]): string {
  const rows = batches.map((batch) => {
    const { id, keyId, createdAt, chargeNanoUsd, requests } = batch;
    return html`<tr>
      <th scope="row" data-label="Batch">
        <span
          ><a href="${BATCHES_PATH}/${id}"><code>!${clipped(id)}</code></a
          ><span class="sub">${INTERFACE_NAMES[batch.interface]}</span></span
        >
      </th>
      <td data-label="Status">!${badge(batch)}</td>
      <td data-label="Done" class="number">${grouped(String(doneOf(batch)))} of ${grouped(String(requests))}</td>
      <td data-label="Cost" class="number">!${usd(chargeNanoUsd)}</td>
      <td data-label="Key" class="minor">!${clipped(nameOf(keyId, keys))}</td>
      <td data-label="Created">!${moment(createdAt)}</td>
    </tr>`;
  });
  return responsiveTable(
    ["Batch", "Status", { number: "Done" }, { number: "Cost" }, { text: "Key", isMinor: true } as const, "Created"],
    rows,
    "wide",
  );
}

function nameOf(keyId: string, keys: readonly NamedKey[]): string {
  return keys.find(({ publicId }) => publicId === keyId)?.name ?? keyId;
}

const STATUSES: Record<BatchStatus, { words: string; look: string }> = {
  validating: { words: "Preparing", look: "" },
  in_progress: { words: "Running", look: "active" },
  finalizing: { words: "Finishing", look: "active" },
  cancelling: { words: "Canceling", look: "" },
  completed: { words: "Completed", look: "active" },
  failed: { words: "Failed", look: "failed" },
  expired: { words: "Expired", look: "expired" },
  cancelled: { words: "Canceled", look: "" },
};

function badge(batch: Batch): string {
  const { words, look } = batch.state === "other" ? { words: "Other", look: "" } : STATUSES[statusOf(batch)];
  return html`<span class="badge ${look}">${words}</span>`;
}

function doneOf({ succeeded, errored, canceled, expired }: Batch): number {
  return succeeded + errored + canceled + expired;
}

export interface BatchView {
  visitor: Member;
  batch: Batch;
  keys: readonly NamedKey[];
}

export function batchPage({ visitor, batch, keys }: BatchView): string {
  const { id, requests, succeeded, errored, canceled, expired, chargeNanoUsd, errors } = batch;
  const body = html`<p class="crumb"><a href="${BATCHES_PATH}">Batches</a></p>
    <div class="title">
      <h1>Batch</h1>
      !${badge(batch)}
    </div>
    <p><code class="wrap">${id}</code></p>
    !${errors.length === 0 ? "" : problems(batch)}
    <div class="cards">
      !${figure({ name: "Requests", value: grouped(String(requests)), note: `${grouped(String(doneOf(batch)))} done` })}
      !${figure({ name: "Succeeded", value: grouped(String(succeeded)), note: lostNote({ errored, canceled, expired }) })}
      !${figure({ name: "Cost", value: usd(chargeNanoUsd), note: "For requests with a result" })}
    </div>
    <dl class="facts card">!${factTerms(facts(batch, keys))}</dl>
    !${isAllowed(visitor.membership.role, "manageBatches") ? actions(batch) : ""}`;
  return layout({ title: "Batch", visitor, path: BATCHES_PATH, body, isNarrow: true });
}

function lostNote({ errored, canceled, expired }: Pick<Batch, "errored" | "canceled" | "expired">): string {
  const parts = [
    `${grouped(String(errored))} failed`,
    ...(canceled === 0 ? [] : [`${grouped(String(canceled))} canceled`]),
    ...(expired === 0 ? [] : [`${grouped(String(expired))} expired`]),
  ];
  return parts.join(", ");
}

const MAX_PROBLEMS = 10;

function problems({ errors }: Batch): string {
  const shown = errors.slice(0, MAX_PROBLEMS);
  const more = errors.length - shown.length;
  return html`<section class="alert" role="status">
    <ul>
      !${shown.map(({ line, message }) => html`<li>${line === null ? "" : `Line ${line}: `}${message}</li>`).join("")}
    </ul>
    !${more === 0 ? "" : html`<p>${more} more ${more === 1 ? "is" : "are"} in the batch's <code>errors</code>.</p>`}
  </section>`;
}

function facts(batch: Batch, keys: readonly NamedKey[]): [string, string][] {
  const { keyId, createdAt, startedAt, endedAt, dueAt, deletedAt, resultsExpireAt, state } = batch;
  const at = (time: Date | null) => (time === null ? "–" : exactMoment(time));
  return [
    ["Endpoint", html`<code>${endpointOf(batch)}</code>`],
    ["Key", html`${nameOf(keyId, keys)}`],
    ["Created", at(createdAt)],
    ["Started", at(startedAt)],
    state === "ended" ? ["Ended", at(endedAt)] : ["Expires", at(dueAt)],
    ...(deletedAt === null ? [] : [["Kept until", at(deletedAt)] satisfies [string, string]]),
    ...(resultsExpireAt?.getTime() === deletedAt?.getTime()
      ? []
      : [["Results kept until", at(resultsExpireAt)] satisfies [string, string]]),
  ];
}

function actions(batch: Batch): string {
  const { id, state, outputBytes, errorBytes, isOutputDeleted, isErrorDeleted } = batch;
  if (state === "running" || state === "preparing")
    return html`<p class="buttons">
      <a class="button danger" href="${BATCHES_PATH}/${id}/cancel" data-dialog>Cancel batch</a>
    </p>`;
  if (state !== "ended") return "";
  const files = [
    ...(outputBytes > 0 && !isOutputDeleted
      ? [html`<a class="button" href="${BATCHES_PATH}/${id}/output">Download results</a>`]
      : []),
    ...(errorBytes > 0 && !isErrorDeleted
      ? [html`<a class="button" href="${BATCHES_PATH}/${id}/error">Download errors</a>`]
      : []),
  ];
  return files.length === 0 ? "" : html`<p class="buttons">!${files.join("")}</p>`;
}

export function confirmCancelPage({ visitor, batch }: { visitor: Member; batch: Batch }): string {
  const { id } = batch;
  return confirmPage({
    visitor,
    path: BATCHES_PATH,
    title: "Cancel this batch?",
    body: html`<p><code class="wrap">${id}</code></p>
      <p>Requests in flight finish and are charged; the rest are not sent. Results so far stay available.</p>`,
    action: `${BATCHES_PATH}/${id}/cancel`,
    button: "Cancel batch",
    cancel: `${BATCHES_PATH}/${id}`,
  });
}
