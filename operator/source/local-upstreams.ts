import * as z from "zod";
import { UPSTREAM_PROTOCOLS, type BackendResource } from "../model/backend-resource.ts";
import type { ModelResource } from "../model/resource.ts";

/**
 * On one machine no name service knows `chat.simulator.localhost`: this replaces it. By the origin in a manifest's backend, the
 * real server.
 */
export const localUpstreamsSchema = z.record(
  z.url("must be an origin such as http://chat.simulator.localhost"),
  z.strictObject({
    /** A bare origin keeps the manifest's path; an address with a path replaces all of it. */
    url: z.url("must be a URL"),
    protocol: z.enum(UPSTREAM_PROTOCOLS).optional(),
    upstreamModel: z.string().min(1).optional(),
    /** The upstream's key. */
    credential: z.string().min(1).optional(),
  }),
);
export type LocalUpstreams = z.infer<typeof localUpstreamsSchema>;

/** A Model with its local upstreams inserted, and the Secrets that these add. */
export function applyLocalUpstreams(resource: ModelResource, upstreams: LocalUpstreams) {
  const secrets = new Map<string, ReadonlyMap<string, string>>();
  const { namespace } = resource.metadata;
  const backends = resource.spec.backends.map((backend) => {
    if (backend.url === undefined) return backend;
    const origin = new URL(backend.url).origin;
    const upstream = upstreams[origin];
    if (upstream === undefined) return backend;

    const protocol = upstream.protocol ?? backend.protocol;
    const url = joinUrl({ given: upstream.url, manifest: backend.url, protocol });
    const secretName = `local-upstream-${new URL(origin).host.replaceAll(/[^a-z0-9.]/g, "-")}`;
    if (upstream.credential !== undefined) secrets.set(`${namespace}/${secretName}`, new Map([["api-key", upstream.credential]]));
    return {
      ...backend,
      url,
      protocol,
      upstreamModel: upstream.upstreamModel ?? backend.upstreamModel,
      ...(upstream.credential === undefined
        ? {}
        : { credentialRef: { name: secretName, key: "api-key" }, credential: undefined }),
      tls: url.startsWith("https:") ? backend.tls : undefined,
    };
  });
  return { resource: { ...resource, spec: { ...resource.spec, backends } }, secrets };
}

function joinUrl({
  given,
  manifest,
  protocol,
}: {
  given: string;
  manifest: string;
  protocol: BackendResource["protocol"];
}): string {
  const { origin, pathname } = new URL(given);
  const url = pathname === "/" ? origin + new URL(manifest).pathname : given;
  return TYPED[protocol](url);
}

/** Addresses as typed at a command line, where people add `/v1` out of habit. */
const TYPED = {
  ChatCompletions: (url) => url,
  Responses: (url) => url,
  Messages: (url) => url.replace(/\/v1\/*$/, ""),
} as const satisfies Record<BackendResource["protocol"], (url: string) => string>;
