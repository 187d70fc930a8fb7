// A key for an hour, only for this page. It stays in this module's memory: no browser storage ever contains it.
let current = null;

/** Renewed this long before it expires, so that no answer starts with a key that is about to expire. */
const SPARE_MS = 60_000;

export async function playgroundKey(form) {
  if (current !== null && Date.now() < current.untilMs) return current.value;
  const response = await fetch("/dashboard/playground/key", {
    method: "POST",
    redirect: "manual",
    body: new URLSearchParams({ form_token: form.elements.form_token.value }),
  });
  // Visitors who are no longer signed in are sent to the sign-in page.
  if (response.type === "opaqueredirect") throw new Error("Your session has ended. Sign in in another tab, then send again.");
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  if (!isJson) throw new Error("This page has expired. Copy what you need, reload the page, and try again.");
  const { value, expires_at: expiresAt, problem } = await response.json();
  if (!response.ok) throw new Error(problem);
  current = { value, untilMs: Date.parse(expiresAt) - SPARE_MS };
  return value;
}

/** The gateway rejected it: other tabs have requested keys since, or someone deleted it. */
export function forgetKey() {
  current = null;
}
