import type { FastifyInstance, FastifyRequest } from "fastify";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { createTurns, type Turns } from "./turns.ts";

/** Of one address, whoever they are: before a session or a token is looked up. Many people may share one. */
const MAX_OF_ADDRESS = 400;
const WAIT_MS = 5_000;

export interface InFlight {
  /** Takes the turn of whoever the request is for; it ends with the response. To be called once they are known. */
  enter(request: FastifyRequest, accountId: string | undefined): Promise<void>;
}

/**
 * What one account has in work on pages and API takes connections of the database and time of this process from all
 * others, so it is bounded: a browser that opens many pages at once waits a little, and a program that goes on is refused.
 */
export function boundInFlight(app: FastifyInstance): InFlight {
  const ends = new WeakMap<FastifyRequest, (() => void)[]>();
  const { requestsInWork, requestsWaiting, downloads } = ACCOUNT_BOUNDS;
  const ofAddress = createTurns({
    inWork: MAX_OF_ADDRESS,
    waiting: 0,
    waitMs: 0,
    refusal: `At most ${MAX_OF_ADDRESS} requests of one address are worked on at once. Try again in a moment.`,
  });
  const ofAccount = createTurns({
    inWork: requestsInWork,
    waiting: requestsWaiting,
    waitMs: WAIT_MS,
    refusal: `At most ${requestsInWork} requests of an account are worked on at once, and ${requestsWaiting} more wait. Try again in a moment, with fewer at once.`,
  });
  const ofDownloads = createTurns({
    inWork: downloads,
    waiting: 0,
    waitMs: 0,
    refusal: `An account downloads at most ${downloads} files at once. Wait until one is complete.`,
  });

  async function take(turns: Turns, request: FastifyRequest, subject: string): Promise<void> {
    const end = await turns.take(subject);
    const ofRequest = ends.get(request);
    // Its client left while it waited: nothing tells of its end any more.
    if (ofRequest === undefined) end();
    else ofRequest.push(end);
  }

  function leave(request: FastifyRequest): void {
    for (const end of ends.get(request) ?? []) end();
    ends.delete(request);
  }

  app.addHook("onRequest", async (request, reply) => {
    ends.set(request, []);
    // When the client leaves before the answer, no other event comes.
    reply.raw.once("close", () => leave(request));
    await take(ofAddress, request, request.ip);
  });
  app.addHook("onResponse", async (request) => leave(request));

  return {
    async enter(request, accountId) {
      // A guest's address may be that of many people, and their pages are small.
      if (accountId === undefined) return;
      if (request.routeOptions.config.isDownload === true) await take(ofDownloads, request, accountId);
      await take(ofAccount, request, accountId);
    },
  };
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** The answer is a file of any length. */
    isDownload?: boolean;
  }
}
