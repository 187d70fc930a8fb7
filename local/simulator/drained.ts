import type { ServerResponse } from "node:http";

/** Resolves when the response accepts more, or nobody is there to receive it. */
export async function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = () => {
    response.off("close", done);
    response.off("drain", done);
    resolve();
  };
  response.once("close", done);
  response.once("drain", done);
  await promise;
}
