import type { FastifyInstance, FastifyRequest } from "fastify";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { clientNetwork } from "../../ledger/sign-in/client-network.ts";
import { isRead } from "./methods.ts";
import { createTurns, type Turns } from "./turns.ts";

/** Of one address, before a session or a token is looked up. Many people may share one. */
const MAX_OF_ADDRESS = 400;
const WAIT_MS = 5_000;
const COME_LATER = "Try again in a moment.";

export interface InFlight {
  /** Identifies the caller of a request: a few at a time per address, because invalid tokens and sessions are looked up, too. */
  identify<Found>(request: FastifyRequest, find: () => Promise<Found>): Promise<Found>;
  /** Takes a turn of the caller; it ends with the response. To be called once the caller is known. */
  enter(request: FastifyRequest, accountId: string | undefined): Promise<void>;
}

/**
 * An account's work on pages and API uses database connections and time of this process, so it is bounded: a browser that opens
 * many pages at once waits a little, and a program that continues is refused.
 */
export function boundInFlight(app: FastifyInstance): InFlight {
  const ends = new WeakMap<FastifyRequest, (() => void)[]>();
  const { requestsInWork, requestsWaiting, downloads } = ACCOUNT_BOUNDS;
  const ofAddress = createTurns({
    inWork: MAX_OF_ADDRESS,
    waiting: 0,
    waitMs: 0,
    refusal: `Your IP address has ${MAX_OF_ADDRESS} requests in progress, which is the maximum. ${COME_LATER}`,
  });
  const ofAccount = createTurns({
    inWork: requestsInWork,
    waiting: requestsWaiting,
    waitMs: WAIT_MS,
    refusal: `This account has ${requestsInWork} requests in progress and ${requestsWaiting} waiting, which is the maximum. Try again in a moment, with fewer at once.`,
  });
  const ofDownloads = createTurns({
    inWork: downloads,
    waiting: 0,
    waitMs: 0,
    refusal: `This account is already downloading ${downloads} files. Wait until one is complete.`,
  });

  const identifications = createTurns({
    inWork: 8,
    waiting: MAX_OF_ADDRESS,
    waitMs: WAIT_MS,
    refusal: `Too many requests from your IP address are waiting. ${COME_LATER}`,
  });
  const guestPages = createGuestTurns({ inWork: 4, waitingOfAddress: 100, waiting: 400 });
  // Sign-ins and sign-ups wait for hashes, which have their own queue.
  const guestForms = createGuestTurns({ inWork: 8, waitingOfAddress: 32, waiting: 200 });

  async function take(turns: Turns, request: FastifyRequest, subject: string): Promise<void> {
    const end = await turns.take(subject);
    const ofRequest = ends.get(request);
    // The client left while it waited: no later event reports its end.
    if (ofRequest === undefined) end();
    else ofRequest.push(end);
  }

  function leave(request: FastifyRequest): void {
    for (const end of ends.get(request) ?? []) end();
    ends.delete(request);
  }

  app.addHook("onRequest", async (request, reply) => {
    ends.set(request, []);
    // If the client leaves before the answer, no other event follows.
    reply.raw.once("close", () => leave(request));
    await take(ofAddress, request, addressOf(request));
  });
  app.addHook("onResponse", async (request) => leave(request));

  async function enterAsGuest(request: FastifyRequest): Promise<void> {
    // Payments are booked even during floods.
    if (request.routeOptions.config.isWebhook === true) return;
    const { ofAddress: own, ofAll } = isRead(request) ? guestPages : guestForms;
    await take(own, request, addressOf(request));
    await take(ofAll, request, EVERYBODY);
  }

  return {
    async identify(request, find) {
      const end = await identifications.take(addressOf(request));
      try {
        return await find();
      } finally {
        end();
      }
    },
    async enter(request, accountId) {
      if (accountId === undefined) return enterAsGuest(request);
      if (request.routeOptions.config.isDownload === true) await take(ofDownloads, request, accountId);
      await take(ofAccount, request, accountId);
    },
  };
}

const EVERYBODY = "";

/** Whoever has one address of IPv6 has all of its /64. */
function addressOf({ ip }: FastifyRequest): string {
  return clientNetwork(ip).address;
}

interface GuestTurns {
  ofAddress: Turns;
  ofAll: Turns;
}

/** Pages for guests are small, but an endless flood of them would take this process from people who have signed in. */
function createGuestTurns({
  inWork,
  waitingOfAddress,
  waiting,
}: {
  inWork: number;
  waitingOfAddress: number;
  waiting: number;
}): GuestTurns {
  const rules = { inWork, waitMs: WAIT_MS };
  return {
    ofAddress: createTurns({
      ...rules,
      waiting: waitingOfAddress,
      refusal: `Too many unauthenticated requests from your IP address. ${COME_LATER}`,
    }),
    ofAll: createTurns({ ...rules, waiting, refusal: `Too many visitors at the moment. ${COME_LATER}` }),
  };
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** The answer is a file of any length. */
    isDownload?: boolean;
  }
}
