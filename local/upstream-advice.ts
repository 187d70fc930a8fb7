import type { Destinations } from "./destinations.ts";
import type { UpstreamOptions } from "./upstreams.ts";

/** Few Models use stand-ins; a custom folder may contain any number. */
const NAMES_SHOWN = 4;

/** Probable mistakes in the given servers' addresses: one sentence each. */
export function adviseOnUpstreams(
  { chatUrl, messagesUrl, responsesUrl, model }: UpstreamOptions,
  destinations: Destinations,
): string[] {
  const flags = [
    { flag: "--upstream-chat", url: chatUrl, placeholder: "http://chat.simulator.localhost" },
    { flag: "--upstream-messages", url: messagesUrl, placeholder: "http://messages.simulator.localhost" },
    { flag: "--upstream-responses", url: responsesUrl, placeholder: "http://responses.simulator.localhost" },
  ];
  if (flags.every(({ url }) => url === undefined)) return [];
  const given = [...destinations].flatMap(([name, servers]) =>
    servers.flatMap(({ kind, url, upstreamModel }) => (kind === "given" ? [{ name, url, upstreamModel }] : [])),
  );
  const advice: string[] = [];
  if (chatUrl !== undefined) advice.push(...adviseOnVersion({ flag: "--upstream-chat", path: "/chat/completions" }, chatUrl));
  if (responsesUrl !== undefined)
    advice.push(...adviseOnVersion({ flag: "--upstream-responses", path: "/responses" }, responsesUrl));
  for (const { flag, url, placeholder } of flags) {
    if (url === undefined || given.some((each) => new URL(each.url).origin === new URL(url).origin)) continue;
    advice.push(`${flag} has no effect: no Model in the manifests has the url ${placeholder}.`);
  }
  const asked = [...new Set(given.map(({ upstreamModel }) => upstreamModel))];
  if (model === undefined && asked.length > 0) {
    const names = asked.slice(0, NAMES_SHOWN).join(", ") + (asked.length > NAMES_SHOWN ? ", …" : "");
    advice.push(`The server receives requests for models named ${names}: if its names differ, add --upstream-model.`);
  } else if (model !== undefined && given.length > 0 && !destinations.has(model)) {
    advice.push(`${model} cannot be the name of a Model: clients use ${given[0]?.name ?? ""} instead.`);
  }
  return advice;
}

/** A bare origin gets `/v1`, a path is used as typed: some servers have another version, or none. */
function adviseOnVersion({ flag, path }: { flag: string; path: string }, url: string): string[] {
  const { origin, pathname } = new URL(url);
  if (pathname === "/") return [`${flag} has no /v1: ${origin}/v1 is used.`];
  if (/\/v\d[^/]*(\/|$)/.test(pathname)) return [];
  return [`${flag} has no /v1: requests go to ${url}${path}. You probably mean ${url}/v1.`];
}
