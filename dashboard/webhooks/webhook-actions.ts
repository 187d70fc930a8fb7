import { GatewayError } from "../../contract/errors.ts";
import type { ActionName } from "../../ledger/people/action-names.ts";
import { admitChange, noteAction } from "../../ledger/people/audit.ts";
import type { Database, Queryable } from "../../ledger/postgres/database.ts";
import { findDelivery, repeatDelivery, type ListedDelivery } from "../../ledger/webhooks/deliveries.ts";
import {
  addEndpoint,
  changeEndpoint,
  deleteEndpoint,
  findEndpoint,
  rotateEndpoint,
  type Endpoint,
  type EndpointSettings,
} from "../../ledger/webhooks/endpoints.ts";
import { queueTestEvent } from "../../ledger/webhooks/events.ts";
import type { TargetNetworks } from "../outbound/networks.ts";
import { checkTargetUrl, type TargetWords } from "../outbound/target.ts";

const WORDS: TargetWords = {
  missing: "Enter the address of your endpoint, such as https://example.com/webhooks.",
  credentials: "Leave user names and passwords out of the address: events are signed instead.",
};

/** A person on a page, or a program with a management token. */
export interface WebhookActor {
  accountId: string;
  personId: string | null;
  tokenId: string | null;
}

interface WebhookWithSecret {
  endpoint: Endpoint;
  /** Shown once. */
  secret: string;
}

/** Absent members stay unchanged. */
interface WebhookChange {
  url?: string | undefined;
  events?: EndpointSettings["events"] | undefined;
  isDisabled?: boolean | undefined;
}

/**
 * Changes to webhooks, for pages and the management API, each in one transaction with its audit entry. Disabling and deleting always
 * work; everything else counts against the account's changes per day.
 */
export interface WebhookActions {
  /** @throws GatewayError `invalid_request` for an address that may not be called. */
  add(actor: WebhookActor, settings: EndpointSettings): Promise<WebhookWithSecret>;
  /** @throws GatewayError `not_found`, as all below. */
  change(actor: WebhookActor, id: string, change: WebhookChange): Promise<Endpoint>;
  /** With another address and a new secret: nobody at the new one has seen the previous. */
  replace(actor: WebhookActor, id: string, url: string): Promise<WebhookWithSecret>;
  /** @param overlapHours how long events are signed with the previous secret too. */
  rotate(actor: WebhookActor, id: string, overlapHours: number): Promise<WebhookWithSecret>;
  delete(actor: WebhookActor, id: string): Promise<void>;
  /** Queues a test event. */
  test(actor: WebhookActor, id: string): Promise<void>;
  /** Queues an event again. @throws GatewayError `invalid_request` for one that is still waiting. */
  repeat(actor: WebhookActor, ids: { id: string; deliveryId: string }): Promise<ListedDelivery>;
}

export interface WebhookActionsDeps {
  database: Database;
  pepper: Buffer;
  targetNetworks?: TargetNetworks | undefined;
}

export function createWebhookActions({ database, pepper, targetNetworks = "public" }: WebhookActionsDeps): WebhookActions {
  /** One change, which the audit log names with the host: the rest of an address may be secret. */
  function act<Result>(
    actor: WebhookActor,
    action: ActionName & `account.webhook_${string}`,
    work: (transaction: Queryable) => Promise<{ url: string; result: Result }>,
  ): Promise<Result> {
    return database.transaction(async (transaction) => {
      const isStop = action === "account.webhook_disabled" || action === "account.webhook_removed";
      await admitChange(transaction, isStop ? null : "webhook", actor, "manageWebhooks");
      const { url, result } = await work(transaction);
      await noteAction(transaction, { ...actor, action, subject: new URL(url).origin });
      return result;
    });
  }

  /** The endpoint, which must get events. */
  async function findEnabled(transaction: Queryable, { accountId }: WebhookActor, id: string): Promise<Endpoint> {
    const endpoint = await findEndpoint(transaction, { accountId, id });
    if (endpoint.disabledBy !== null) throw new GatewayError("invalid_request", "This webhook is disabled. Enable it first.");
    return endpoint;
  }

  return {
    add: (actor, { url, events }) => {
      const settings = { accountId: actor.accountId, url: checkTargetUrl(url, targetNetworks, WORDS), events, pepper };
      return act(actor, "account.webhook_set", async (transaction) => {
        const result = await addEndpoint(transaction, settings);
        return { url: result.endpoint.url, result };
      });
    },
    async change(actor, id, { url, events, isDisabled }) {
      const checked = url === undefined ? undefined : checkTargetUrl(url, targetNetworks, WORDS);
      const action = actionOf({ url, events, isDisabled });
      if (action === "account.webhook_disabled") {
        const found = await findEndpoint(database, { accountId: actor.accountId, id });
        // What stops nothing leaves no row in the audit log: it is not limited.
        if (found.disabledBy !== null) return found;
      }
      return act(actor, action, async (transaction) => {
        const change = { url: checked, events, isDisabled };
        const result = await changeEndpoint(transaction, { accountId: actor.accountId, id }, change);
        return { url: result.url, result };
      });
    },
    replace: (actor, id, url) => {
      const checked = checkTargetUrl(url, targetNetworks, WORDS);
      return act(actor, "account.webhook_set", async (transaction) => {
        const { accountId } = actor;
        await changeEndpoint(transaction, { accountId, id }, { url: checked });
        return { url: checked, result: await rotateEndpoint(transaction, { accountId, id, overlapHours: 0, pepper }) };
      });
    },
    rotate: (actor, id, overlapHours) =>
      act(actor, "account.webhook_rotated", async (transaction) => {
        const { accountId } = actor;
        const result = await rotateEndpoint(transaction, { accountId, id, overlapHours, pepper });
        return { url: result.endpoint.url, result };
      }),
    delete: (actor, id) =>
      act(actor, "account.webhook_removed", async (transaction) => {
        const { url } = await deleteEndpoint(transaction, { accountId: actor.accountId, id });
        return { url, result: undefined };
      }),
    test: (actor, id) =>
      act(actor, "account.webhook_tested", async (transaction) => {
        const { url } = await findEnabled(transaction, actor, id);
        return { url, result: await queueTestEvent(transaction, { accountId: actor.accountId, endpointId: id }) };
      }),
    repeat: (actor, { id, deliveryId }) =>
      act(actor, "account.webhook_repeated", async (transaction) => {
        const { url } = await findEnabled(transaction, actor, id);
        const delivery = await findDelivery(transaction, { endpointId: id, id: deliveryId });
        if (delivery === undefined) throw new GatewayError("not_found", "This webhook has no such delivery.");
        if (delivery.status === "waiting")
          throw new GatewayError("invalid_request", "This event is still waiting and will be retried automatically.");
        const newId = await repeatDelivery(transaction, { endpointId: id, id: deliveryId });
        const result = await findDelivery(transaction, { endpointId: id, id: newId });
        if (result === undefined) throw new Error(`The delivery ${newId} was not stored.`);
        return { url, result };
      }),
  };
}

function actionOf({ isDisabled, ...settings }: WebhookChange): ActionName & `account.webhook_${string}` {
  if (isDisabled === undefined || Object.values(settings).some((value) => value !== undefined)) return "account.webhook_changed";
  return isDisabled ? "account.webhook_disabled" : "account.webhook_enabled";
}
