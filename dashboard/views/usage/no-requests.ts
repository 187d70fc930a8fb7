import { empty } from "../empty.ts";

/** Where there is nothing yet, however it is filtered. */
export function noRequests(title: string): string {
  return empty(title, {
    note: "Requests show up here a moment after they end.",
    more: '<a class="button" href="/dashboard/docs">How to send requests</a>',
  });
}
