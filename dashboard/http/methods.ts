import type { FastifyInstance, FastifyRequest } from "fastify";

export interface Methods {
  /** @param url with its query. @returns them in order, none for an unknown path. */
  of(url: string): string[];
}

/** Whether it changes nothing. */
export function isRead({ method }: FastifyRequest): boolean {
  return method === "GET" || method === "HEAD";
}

/** Remembers which methods the scope's paths accept, for what a 405 says. To be called before the routes are added. */
export function recordMethods(scope: FastifyInstance): Methods {
  const routes: { method: string; path: readonly string[] }[] = [];
  scope.addHook("onRoute", ({ method, url }) => {
    for (const each of [method].flat()) routes.push({ method: each, path: url.split("/") });
  });
  return {
    of(url) {
      const [address = ""] = url.split("?", 1);
      const sent = (address.endsWith("/") ? address.slice(0, -1) : address).split("/");
      const fits = ({ path }: { path: readonly string[] }) =>
        path.length === sent.length && path.every((part, at) => (part.startsWith(":") ? sent[at] !== "" : part === sent[at]));
      return routes
        .filter(fits)
        .map(({ method }) => method)
        .toSorted();
    },
  };
}
