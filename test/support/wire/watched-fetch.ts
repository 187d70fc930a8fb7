/** A `fetch` for a client library that records the library's actual requests and responses. */
export interface WatchedFetch {
  readonly fetch: typeof globalThis.fetch;
  /** Of every response so far, in order; the last attempt is the last. */
  readonly responses: readonly Response[];
  /** The gateway's id of the newest response. */
  requestId(): string;
}

export function createWatchedFetch(): WatchedFetch {
  const responses: Response[] = [];
  return {
    async fetch(...sent) {
      const response = await globalThis.fetch(...sent);
      responses.push(response);
      return response;
    },
    responses,
    requestId: () => responses.at(-1)?.headers.get("x-request-id") ?? "",
  };
}
