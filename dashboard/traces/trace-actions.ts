import { randomBytes } from "node:crypto";
import { GatewayError } from "../../contract/errors.ts";
import type { ActionName } from "../../ledger/people/action-names.ts";
import { admitChange, noteAction } from "../../ledger/people/audit.ts";
import type { Database, Queryable } from "../../ledger/postgres/database.ts";
import { OTHER } from "../../ledger/postgres/known-or-other.ts";
import {
  addDestination,
  changeDestination,
  deleteDestination,
  disableDestination,
  enableDestination,
  findDestination,
  readTarget,
  type DestinationChange,
  type DestinationKind,
  type DestinationSettings,
  type TraceDestination,
} from "../../ledger/traces/destinations.ts";
import { Span_SpanKind } from "../../runtime/gen/otlp/traces_pb.js";
import type { TargetNetworks } from "../outbound/networks.ts";
import { checkTargetUrl, type TargetWords } from "../outbound/target.ts";
import type { BatchResult } from "./answer.ts";
import { encodeAttributes } from "./attributes.ts";
import { encodeSpans } from "./encode.ts";
import { sendSpans } from "./send.ts";

/** A person on a page, or a program with a management token. */
export interface TraceActor {
  accountId: string;
  personId: string | null;
  tokenId: string | null;
}

/**
 * Changes to an account's destinations of traces, for pages and the management API, each in one transaction with its audit entry.
 * Disabling and deleting always work; everything else counts against the account's changes per day.
 */
export interface TraceActions {
  /** @throws GatewayError `invalid_request` for an address that may not be called. */
  add(actor: TraceActor, settings: DestinationSettings): Promise<TraceDestination>;
  /** @throws GatewayError `not_found`, as all below. */
  change(actor: TraceActor, id: string, change: DestinationChange): Promise<TraceDestination>;
  enable(actor: TraceActor, id: string): Promise<TraceDestination>;
  disable(actor: TraceActor, id: string): Promise<TraceDestination>;
  delete(actor: TraceActor, id: string): Promise<void>;
  /** Sends a span that says that it is a test, whether or not the destination is enabled, and waits for the answer. */
  test(actor: TraceActor, id: string): Promise<BatchResult>;
}

export interface TraceActionsDeps {
  database: Database;
  pepper: Buffer;
  targetNetworks?: TargetNetworks | undefined;
}

export function createTraceActions({ database, pepper, targetNetworks = "public" }: TraceActionsDeps): TraceActions {
  /** One change, which the audit log names with the host: the rest of an address may be secret. */
  function act<Result>(
    actor: TraceActor,
    action: ActionName & `account.traces_${string}`,
    work: (transaction: Queryable) => Promise<{ url: string; result: Result }>,
  ): Promise<Result> {
    return database.transaction(async (transaction) => {
      const isStop = action === "account.traces_disabled" || action === "account.traces_removed";
      await admitChange(transaction, isStop ? null : "traces", actor, "manageTraces");
      const { url, result } = await work(transaction);
      await noteAction(transaction, { ...actor, action, subject: new URL(url).origin });
      return result;
    });
  }

  const shown = (result: TraceDestination) => ({ url: result.url, result });

  return {
    add: (actor, { url, ...settings }) => {
      const checked = checkDestinationUrl(url, settings.kind, targetNetworks);
      return act(actor, "account.traces_added", async (transaction) =>
        shown(await addDestination(transaction, { accountId: actor.accountId, pepper, url: checked, ...settings })),
      );
    },
    change: (actor, id, { url, ...change }) => {
      const destination = { accountId: actor.accountId, id, pepper };
      return act(actor, "account.traces_changed", async (transaction) => {
        const { kind } = await findDestination(transaction, destination);
        // One of another kind is refused below.
        const checked = url === undefined || kind === OTHER ? undefined : checkDestinationUrl(url, kind, targetNetworks);
        return shown(await changeDestination(transaction, destination, { ...change, url: checked }));
      });
    },
    enable: (actor, id) =>
      act(actor, "account.traces_enabled", async (transaction) =>
        shown(await enableDestination(transaction, { accountId: actor.accountId, id })),
      ),
    async disable(actor, id) {
      const found = await findDestination(database, { accountId: actor.accountId, id });
      // What stops nothing leaves no row in the audit log: it is not limited.
      if (found.disabledBy !== null) return found;
      return act(actor, "account.traces_disabled", async (transaction) =>
        shown(await disableDestination(transaction, { accountId: actor.accountId, id }, "owner")),
      );
    },
    delete: (actor, id) =>
      act(actor, "account.traces_removed", async (transaction) => {
        const { url } = await deleteDestination(transaction, { accountId: actor.accountId, id });
        return { url, result: undefined };
      }),
    async test(actor, id) {
      const { accountId } = actor;
      // Nothing is locked while the server answers.
      const target = await act(actor, "account.traces_tested", async (transaction) => {
        const found = await readTarget(transaction, { accountId, id, pepper });
        return { url: found.url, result: found };
      });
      const { headers, ...rest } = target;
      if (headers === undefined) return { kind: "refused", problem: "The headers cannot be read. Enter them again." };
      return sendSpans({ ...rest, headers }, testSpan(accountId, new Date()), { networks: targetNetworks, isTest: true });
    },
  };
}

function testSpan(accountId: string, at: Date): Uint8Array {
  const nano = BigInt(at.getTime()) * 1_000_000n;
  return encodeSpans(accountId, [
    {
      traceId: randomBytes(16),
      spanId: randomBytes(8),
      name: "test",
      kind: Span_SpanKind.CLIENT,
      startTimeUnixNano: nano,
      endTimeUnixNano: nano + 1_000_000n,
      attributes: encodeAttributes({ "gateway.is_test": true }),
    },
  ]);
}

const WORDS: Readonly<Record<DestinationKind, TargetWords>> = {
  otlp: {
    missing: "Enter the traces endpoint of your server, such as https://otlp.example.com/v1/traces.",
    credentials: "Leave user names and passwords out of the address, and enter them as a header.",
  },
  langfuse: {
    missing: "Enter the address of your Langfuse server, such as https://cloud.langfuse.com.",
    credentials: "Leave user names and passwords out of the address: the keys below are sent instead.",
  },
};

/** Without a path, that of OTLP is added; of Langfuse, its own is, later. */
function checkDestinationUrl(text: string, kind: DestinationKind, networks: TargetNetworks): string {
  const url = new URL(checkTargetUrl(text, networks, WORDS[kind]));
  if (kind === "otlp") {
    if (url.pathname === "/") url.pathname = "/v1/traces";
    return url.href;
  }
  url.search = "";
  url.pathname = url.pathname.replace(/\/api\/public(\/otel(\/v1\/traces)?)?\/?$/, "");
  return url.href;
}

/** @throws GatewayError `invalid_request` with `field`: destinations of the other kind have other credentials. */
export function checkKind({ kind }: TraceDestination, wanted: DestinationKind, field: string): void {
  if (kind === wanted || kind === OTHER) return;
  const words = kind === "otlp" ? "An OTLP destination has headers" : "A Langfuse destination has a public and a secret key";
  throw new GatewayError("invalid_request", `${words}. Leave ${field} out.`, { field });
}
