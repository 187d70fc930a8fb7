import { html } from "ghtml";
import { safeNext } from "../http/reply.ts";
import type { Member } from "../session/visitor.ts";
import { supportLink } from "./support.ts";
import { layout } from "./layout.ts";

/** Shorter waits are "a moment", which the messages say themselves. */
const LONG_WAIT_SECONDS = 10;
const DEAD_LINK = "This link no longer works";
const TITLES: Readonly<Record<number, string>> = {
  403: "Not allowed",
  404: "Page not found",
  413: "Form too large",
  429: "Too many requests",
  503: "Not available right now",
};

export interface FailureView {
  visitor: Member | null;
  status: number;
  message: string;
  requestId: string;
  /** Of the failed request. */
  method: string;
  /** The page to try again: the requested one, or the one whose form was sent. */
  page: string;
  /** Seconds to wait; null if it may succeed at any time. */
  retryAfterSeconds: number | null;
  /** Where customers get help; undefined if there is no contact. */
  support: string | undefined;
  /** Where to get another emailed link; null if not here. */
  renewal?: { path: string; words: string } | null;
}

/** What happened, and what to do next. */
export function failurePage(view: FailureView): string {
  const { visitor, status, message, requestId, support, renewal } = view;
  const usual = TITLES[status] ?? (status >= 500 ? "Something went wrong" : "That did not work");
  const title = renewal === undefined ? usual : DEAD_LINK;
  const body = html`<p class="muted small">Error ${String(status)}</p>
    <h1>${title}</h1>
    <div class="card stack">
      <p>${message}</p>
      !${advice(view)
        .map((sentence) => html`<p class="muted">${sentence}</p>`)
        .join("")}
      <div class="buttons">!${nextSteps(view).join(" ")}</div>
    </div>
    <p class="muted small">
      Request ID: <code id="request-id">${requestId}</code>
      <button type="button" class="quiet" data-copy="request-id" aria-live="polite" hidden>
        Copy<span class="hidden"> request ID</span>
      </button>
    </p>
    !${support === undefined ? "" : html`<p class="muted small">Need help? Contact !${supportLink(support)} with this ID.</p>`}`;
  return layout({ title, visitor, body, isNarrow: true });
}

/** Failures that may be temporary. */
function isPassing(status: number): boolean {
  return status === 429 || status >= 500;
}

function advice({ status, method, retryAfterSeconds }: FailureView): string[] {
  const isForm = method === "POST";
  const isLong = retryAfterSeconds !== null && retryAfterSeconds >= LONG_WAIT_SECONDS;
  const wait = isLong ? [`Wait ${duration(retryAfterSeconds)}, then try again.`] : [];
  if (status === 429) return isForm ? ["Nothing was saved.", ...wait] : wait;
  if (status < 500) return [];
  return isForm ? ["Your change may or may not have been saved: look at the page before you submit the form again."] : [];
}

/** First the remedy, then where else to look. */
function nextSteps({ visitor, status, page, renewal }: FailureView): string[] {
  const home =
    visitor === null ? { path: "/dashboard/sign-in", words: "Sign in" } : { path: "/dashboard", words: "Go to overview" };
  if (renewal != null) return [button(renewal, "primary"), button(home, "quiet")];
  if (isPassing(status))
    return [
      button({ path: safeNext(page), words: "Try again" }, "primary"),
      button({ path: "/dashboard/status", words: "Service status" }, "quiet"),
    ];
  return [button(home, "primary"), button({ path: "/dashboard/docs", words: "Documentation" }, "quiet")];
}

function button({ path, words }: { path: string; words: string }, kind: "primary" | "quiet"): string {
  return html`<a class="button ${kind}" href="${path}">${words}</a>`;
}

function duration(seconds: number): string {
  if (seconds < 60) return `${seconds} seconds`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes >= 60) return "an hour";
  return minutes === 1 ? "a minute" : `${minutes} minutes`;
}
