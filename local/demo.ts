import { randomBytes } from "node:crypto";
import { createAccount } from "../ledger/accounts.ts";
import { readChanges } from "../ledger/changes.ts";
import type { Database } from "../ledger/database.ts";
import { postCredit } from "../ledger/entries.ts";
import { createApiKey, isSecretOf, parseApiKey } from "../ledger/keys.ts";
import { parseNanoUsd } from "../ledger/money.ts";
import { readOptional, writeSecret } from "./data-directory.ts";

const ACCOUNT = "demo";
const CREDIT_USD = "5.00";
const PEPPER_BYTES = 32;

/** The secret that keys are hashed with; made once. Without it no key made here is valid any more. */
export async function readPepper(file: string): Promise<Buffer> {
  const text = await readOptional(file);
  if (text !== undefined) return Buffer.from(text.trim(), "base64");
  const pepper = randomBytes(PEPPER_BYTES);
  await writeSecret(file, `${pepper.toString("base64")}\n`);
  return pepper;
}

/**
 * The account `demo`, its credit (posted once) and its key, written with the base address into `local.env`.
 * @returns the full value of the key.
 */
export async function prepareDemo(
  database: Database,
  options: { pepper: Buffer; settings: string; baseUrl: string },
): Promise<string> {
  await createAccount(database, { id: ACCOUNT, name: "Demo" });
  await postCredit(database, {
    accountId: ACCOUNT,
    kind: "grant",
    amountNanoUsd: parseNanoUsd(CREDIT_USD),
    reference: "local demo credit",
    note: "Credit to try the gateway with",
  });
  const kept = readKey(await readOptional(options.settings));
  const key =
    kept !== undefined && (await isValid(database, kept, options.pepper)) ? kept : await makeKey(database, options.pepper);
  await writeSecret(options.settings, `GATEWAY_BASE_URL=${options.baseUrl}\nGATEWAY_API_KEY=${key}\n`);
  return key;
}

async function makeKey(database: Database, pepper: Buffer): Promise<string> {
  return (await createApiKey(database, { accountId: ACCOUNT, name: "local", pepper })).value;
}

function readKey(settings: string | undefined): string | undefined {
  return /^GATEWAY_API_KEY=(\S+)$/m.exec(settings ?? "")?.[1];
}

/** A kept key may have been deleted since, or belong to another database or pepper. */
async function isValid(database: Database, value: string, pepper: Buffer): Promise<boolean> {
  const parsed = parseApiKey(value);
  if (parsed.kind !== "key") return false;
  const { keys } = await readChanges(database, 0n);
  const row = keys.find(({ publicId }) => publicId === parsed.publicId);
  if (row === undefined || row.isRevoked || row.isDisabled) return false;
  return isSecretOf(row, { secret: parsed.secret, pepper, nowMs: Date.now() });
}
