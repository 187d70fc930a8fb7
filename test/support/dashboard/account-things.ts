import { randomBytes } from "node:crypto";
import { createBatch } from "../../../ledger/batches/batches.ts";
import { startBatch } from "../../../ledger/batches/requests.ts";
import { setBudget } from "../../../ledger/budgets/set-budget.ts";
import { createProject } from "../../../ledger/projects/projects.ts";
import { addDestination } from "../../../ledger/traces/destinations.ts";
import { addEndpoint } from "../../../ledger/webhooks/endpoints.ts";
import { listRedeemCodes } from "../../../ledger/credit/code-list.ts";
import { createRedeemCode } from "../../../ledger/credit/codes.ts";
import { createApiKey } from "../../../ledger/keys/keys.ts";
import { beginPayment, completePayment } from "../../../ledger/payments/payments.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { createManagementToken } from "../../../ledger/people/management-tokens.ts";
import { invite, listInvitations } from "../../../ledger/people/invitations.ts";
import { addMember } from "../../../ledger/people/members.ts";
import { signUp } from "../../../ledger/people/persons.ts";
import { listSessions, startSession } from "../../../ledger/sign-in/sessions.ts";
import type { Thing } from "./access.ts";
import { PEPPER, settlementOf } from "../billing/ledger.ts";
import { addPromptRecord } from "../billing/prompt-records.ts";
import type { Database } from "../../../ledger/postgres/database.ts";

/** Whose things are made. */
export interface ThingMaker {
  database: Database;
  accountId: string;
  /** Its owner. */
  personId: string;
  /** In the name of each of them. */
  mark: string;
}

/** Something new of an account's. @returns its id. */
export async function makeThing(thing: Thing, { database, accountId, personId, mark }: ThingMaker): Promise<string> {
  switch (thing) {
    case "account":
      return accountId;
    case "key":
      return (await createApiKey(database, { accountId, name: mark, pepper: PEPPER })).publicId;
    case "token": {
      const token = { accountId, name: mark, role: "owner", createdBy: personId, expiresAt: null } as const;
      // An account has so many at most.
      await database.execute("UPDATE management_token SET revoked_at = now() WHERE name = $1", [mark]);
      return (await createManagementToken(database, token)).id;
    }
    case "code":
      await createRedeemCode(database, { amountNanoUsd: 1n, pepper: PEPPER, note: mark });
      return (await listRedeemCodes(database, { limit: 1 }))[0]?.id ?? "";
    case "session":
      await startSession(database, { personId, accountId, userAgent: "" });
      return (await listSessions(database, personId))[0]?.id ?? "";
    case "invitation":
      await invite(database, { accountId, email: `${mark}@example.org`, role: "viewer", invitedBy: personId });
      return (await listInvitations(database, accountId)).at(-1)?.id ?? "";
    case "person": {
      const email = `${mark}-${randomBytes(8).toString("hex")}@example.com`;
      const { person } = await signUp(database, { email, name: mark, password: "correct horse battery" });
      await addMember(database, { accountId, personId: person.id, role: "member" });
      return person.id;
    }
    case "payment": {
      const providerPaymentId = `cs_test_${randomBytes(16).toString("hex")}`;
      await beginPayment(database, { accountId, provider: "test", providerPaymentId, amountNanoUsd: 5_000_000_000n });
      return providerPaymentId;
    }
    case "budget": {
      const { publicId: keyId } = await createApiKey(database, { accountId, name: mark, pepper: PEPPER });
      return setBudget(database, { accountId, personId: null }, { scope: "key", keyId, amountNanoUsd: 1n });
    }
    case "project": {
      const name = randomBytes(8).toString("hex");
      // An account has so many at most, and one of each name.
      await database.execute("DELETE FROM project WHERE account_id = $1", [accountId]);
      return createProject(database, { accountId, personId, tokenId: null }, name);
    }
    case "provider": {
      const provider = `${mark}-${randomBytes(8).toString("hex")}`;
      await database.execute(
        `INSERT INTO provider_key (id, account_id, provider, origin, sealing_key_id, sealed, last_four)
         VALUES (uuidv7(), $1, $2, 'https://api.example.com', 'none', '', 'WxYz')`,
        [accountId, provider],
      );
      return provider;
    }
    case "receipt": {
      const name = { provider: "test", providerPaymentId: `cs_test_${randomBytes(16).toString("hex")}` };
      const { id } = await beginPayment(database, { accountId, ...name, amountNanoUsd: 5_000_000_000n });
      await completePayment(database, name);
      return id;
    }
    case "record": {
      const { publicId: keyId } = await createApiKey(database, { accountId, name: mark, pepper: PEPPER, promptLogDays: 7 });
      return addPromptRecord(database, { accountId, keyId }, { request: mark, answer: mark });
    }
    case "request": {
      const { publicId } = await createApiKey(database, { accountId, name: mark, pepper: PEPPER });
      const settlement = settlementOf({ accountId, keyId: publicId });
      await settle(database, [settlement]);
      return settlement.requestId;
    }
    case "webhook": {
      // An account has so many at most.
      await database.execute("DELETE FROM webhook_endpoint WHERE account_id = $1", [accountId]);
      const events = ["key.created"] as const;
      const { endpoint } = await addEndpoint(database, { accountId, url: "https://example.com/hook", events, pepper: PEPPER });
      return endpoint.id;
    }
    case "trace destination": {
      // An account has so many at most.
      await database.execute("DELETE FROM trace_destination WHERE account_id = $1", [accountId]);
      // Nothing may be sent there: a test trace ends at once.
      const settings = { name: mark, kind: "otlp", url: "https://127.0.0.1/", headers: [], includesContent: false } as const;
      return (await addDestination(database, { accountId, pepper: PEPPER, ...settings })).id;
    }
    case "batch":
    case "ended batch": {
      const batch = {
        accountId,
        keyId: mark,
        kind: "msgbatch",
        interface: "messages",
        bytes: 0,
        // Made before whatever has happened to the account since: another route may have suspended it.
        room: { take: async () => {}, giveBack: async (_bytes: number, work: () => Promise<boolean>) => work() },
      } as const;
      const id = await createBatch(database, batch);
      await startBatch(database, { batchId: id, requests: 1, bytes: 0 });
      // An account has so many at most that are open.
      await database.execute("UPDATE batch SET state = 'ended', ended_at = now() WHERE id <> $1", [id]);
      if (thing === "ended batch") await database.execute("UPDATE batch SET state = 'ended' WHERE id = $1", [id]);
      return id;
    }
    default:
      return thing.text;
  }
}
