import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { Webhook } from "standardwebhooks";
import { expect, onTestFinished, test } from "vitest";
import { deliverEvents } from "../../../dashboard/webhooks/deliver.ts";
import { addEndpoint, rotateEndpoint } from "../../../ledger/webhooks/endpoints.ts";
import { EVENT_TYPES } from "../../../ledger/webhooks/event-types.ts";
import { queueEvent } from "../../../ledger/webhooks/events.ts";
import { PEPPER, seedLedger } from "../../support/billing/ledger.ts";
import { captureLog } from "../../support/stacks/log.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { startReceiver } from "../../support/servers/webhook-receiver.ts";

const postgres = usePostgres();
const ROOT = path.join(import.meta.dirname, "../../..");

/** Each reads a body and headers from its arguments, and prints what the guide's function returns. */
const PROGRAMS = {
  javascript: {
    file: "receiver.mjs",
    command: process.execPath,
    main: `const [body, headers] = process.argv.slice(2);
console.log(JSON.stringify(readEvent(body, JSON.parse(headers))));`,
  },
  python: {
    file: "receiver.py",
    command: "python3",
    main: `import sys
print(json.dumps(read_event(sys.argv[1].encode(), json.loads(sys.argv[2]))))`,
  },
} as const;

test("the guide's programs, word for word, accept what is sent and what the official library signs, and nothing else (S47)", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await seedLedger(database);
  const receiver = await startReceiver(200);
  const { endpoint, secret } = await addEndpoint(database, { accountId, url: receiver.url, events: EVENT_TYPES, pepper: PEPPER });
  const { log } = captureLog();
  const deliver = () => deliverEvents({ database, pepper: PEPPER, targetNetworks: "any", log });
  await queueEvent(database, { accountId, type: "key.created", data: { key_name: "für „alle“" } });
  await deliver();
  await rotateEndpoint(database, { accountId, id: endpoint.id, overlapHours: 1, pepper: PEPPER });
  await queueEvent(database, { accountId, type: "key.deleted", data: {} });
  await deliver();
  const [sent, inOverlap] = receiver.received;
  if (sent === undefined || inOverlap === undefined) throw new Error("The events did not arrive.");
  const own = { body: '{"type":"other"}', headers: signed('{"type":"other"}', secret, new Date()) };
  const old = { body: own.body, headers: signed(own.body, secret, new Date(Date.now() - 600_000)) };
  const changed = { ...sent, body: sent.body.replace("key.created", "key.deleted") };
  const foreign = { body: own.body, headers: signed(own.body, `whsec_${Buffer.alloc(32).toString("base64")}`, new Date()) };

  const guide = await readFile(path.join(ROOT, "docs/webhooks.md"), "utf8");
  const folder = await mkdtemp(path.join(tmpdir(), "model-gateway-guide-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await symlink(path.join(ROOT, "node_modules"), path.join(folder, "node_modules"));
  for (const [language, { file, command, main }] of Object.entries(PROGRAMS)) {
    const source = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s").exec(guide)?.[1];
    if (source === undefined) throw new Error(`The guide has no program in ${language}.`);
    await writeFile(path.join(folder, file), `${source}\n${main}\n`);
    const run = ({ body, headers }: { body: string; headers: Record<string, string> }) =>
      promisify(execFile)(command, [path.join(folder, file), body, JSON.stringify(headers)], {
        env: { ...process.env, WEBHOOK_SECRET: secret },
      });
    for (const event of [sent, inOverlap, own])
      expect([language, JSON.parse((await run(event)).stdout)]).toEqual([language, JSON.parse(event.body)]);
    for (const event of [old, changed, foreign]) await expect(run(event), language).rejects.toMatchObject({ code: 1 });
  }
});

function signed(body: string, secret: string, at: Date): Record<string, string> {
  return {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign("msg_1", at, body),
  };
}
