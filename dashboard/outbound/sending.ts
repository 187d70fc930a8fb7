export interface SendingOptions<Item> {
  /** At once, in this process. */
  max: number;
  /** Items that are due, each given to one of several callers. @param inFlight what this process is sending. */
  claim(limit: number, inFlight: readonly Item[]): Promise<Item[]>;
  /** @returns whether more may be due at once. */
  send(item: Item): Promise<boolean>;
  onFailure(error: unknown): void;
}

/** What accounts want sent, from whichever replica claims it first. A slow target delays nothing to others while there is room. */
export interface Sending {
  /** Begins to send everything that is due and has room. */
  sendDue(): Promise<void>;
  /** Claims nothing more, and waits for what is in flight. */
  stop(): Promise<void>;
}

export function startSending<Item>({ max, claim, send, onFailure }: SendingOptions<Item>): Sending {
  const sending = new Map<Item, Promise<void>>();
  let claiming: Promise<void> | undefined;
  let isAskedAgain = false;
  let isStopping = false;

  async function sendDue(): Promise<void> {
    if (isStopping) return;
    isAskedAgain = true;
    claiming ??= claimAll().finally(() => (claiming = undefined));
    await claiming;
  }

  async function claimAll(): Promise<void> {
    while (isAskedAgain) {
      isAskedAgain = false;
      const limit = max - sending.size;
      if (limit === 0) return;
      for (const item of await claim(limit, [...sending.keys()])) sending.set(item, sendOne(item));
    }
  }

  async function sendOne(item: Item): Promise<void> {
    const mayHaveMore = await send(item).catch(onFailure);
    sending.delete(item);
    // What follows need not wait for the next round.
    if (mayHaveMore === true) void sendDue().catch(onFailure);
  }

  return {
    sendDue,
    async stop() {
      isStopping = true;
      await claiming?.catch(onFailure);
      await Promise.all(sending.values());
    },
  };
}
