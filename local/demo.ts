import { randomBytes } from "node:crypto";
import { createAccount, findAccount } from "../ledger/accounts/accounts.ts";
import type { Database } from "../ledger/postgres/database.ts";
import { postCredit } from "../ledger/credit/entries.ts";
import { setAdmin } from "../ledger/people/admins.ts";
import { addOwner, findPersonByEmail, setPassword } from "../ledger/people/persons.ts";
import { createApiKey, isKeyInForce } from "../ledger/keys/keys.ts";
import { parseNanoUsd } from "../ledger/money.ts";
import { hasPassword } from "../ledger/sign-in/sign-in.ts";
import { readOptional, writeSecret } from "./data-directory.ts";

const ACCOUNT = "demo";
const EMAIL = "demo@example.com";
const CREDIT_USD = "5.00";
const PEPPER_BYTES = 32;
const PROVIDER_KEYS_BYTES = 32;

/** Its owner may have closed it, or tried what suspending does. */
export const INACTIVE_ACCOUNT =
  "The demo account is closed or suspended, and requests with its key are refused: reactivate it in the dashboard, under Admin.";

/** Everything needed to try the gateway. */
export interface Demo {
  /** Full value of the key. */
  apiKey: string;
  /** The person who signs in to the dashboard. */
  email: string;
  /** Undefined once it was changed in the dashboard. */
  password: string | undefined;
  /** The account was neither closed nor suspended. */
  isActive: boolean;
}

/**
 * The secret that keys are hashed with; created once. Without it, keys created here are invalid.
 * @throws Error with one sentence if the file was emptied or truncated.
 */
export async function readPepper(file: string): Promise<Buffer> {
  const text = await readOptional(file);
  if (text !== undefined) {
    const pepper = Buffer.from(text.trim(), "base64");
    if (pepper.length >= PEPPER_BYTES) return pepper;
    throw new Error(
      `The secret that keys are hashed with is missing from ${file}: restore that file from a backup, or remove it to create a new secret, which invalidates all existing keys.`,
    );
  }
  const pepper = randomBytes(PEPPER_BYTES);
  await writeSecret(file, `${pepper.toString("base64")}\n`);
  return pepper;
}

/**
 * The secret that opens accounts' provider keys; created once. Without it, keys that were entered have to be entered again.
 * @throws Error with one sentence if the file was emptied or truncated.
 */
export async function readProviderKeysSecret(file: string): Promise<string> {
  const text = await readOptional(file);
  if (text !== undefined) {
    const secrets = text.trim();
    if (secrets.split(",").every((secret) => Buffer.from(secret, "base64").length === PROVIDER_KEYS_BYTES)) return secrets;
    throw new Error(
      `The secret that opens provider keys is missing from ${file}: restore that file from a backup, or remove it to create a new secret; accounts must then enter their provider keys again.`,
    );
  }
  const secret = randomBytes(PROVIDER_KEYS_BYTES).toString("base64");
  await writeSecret(file, `${secret}\n`);
  return secret;
}

/**
 * The account `demo`, its credit (posted once) and its key, written with the base URL into `local.env`.
 */
export async function prepareDemo(
  database: Database,
  options: { pepper: Buffer; settings: string; baseUrl: string },
): Promise<Demo> {
  await createAccount(database, { id: ACCOUNT, name: "Demo" });
  await postCredit(database, {
    accountId: ACCOUNT,
    kind: "grant",
    amountNanoUsd: parseNanoUsd(CREDIT_USD),
    reference: "local demo credit",
    note: "Credit for trying the gateway",
  });
  const settingsBefore = await readOptional(options.settings);
  // A stored key may have been deleted since, or belong to another database or pepper.
  const kept = readSetting(settingsBefore, "GATEWAY_API_KEY");
  const key =
    kept !== undefined && (await isKeyInForce(database, { value: kept, pepper: options.pepper }))
      ? kept
      : await makeKey(database, options.pepper);
  const password = await preparePerson(database, settingsBefore);
  const settings = {
    GATEWAY_BASE_URL: options.baseUrl,
    GATEWAY_API_KEY: key,
    DASHBOARD_URL: `${options.baseUrl}/dashboard`,
    DASHBOARD_EMAIL: EMAIL,
    DASHBOARD_PASSWORD: password ?? "",
  };
  await setAdmin(database, { email: EMAIL, isAdmin: true });
  await writeSecret(
    options.settings,
    Object.entries(settings)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(""),
  );
  const account = await findAccount(database, ACCOUNT);
  return { apiKey: key, email: EMAIL, password, isActive: account?.status === "active" };
}

async function makeKey(database: Database, pepper: Buffer): Promise<string> {
  return (await createApiKey(database, { accountId: ACCOUNT, name: "local", pepper })).value;
}

/**
 * A person who signs in to the dashboard as the account's owner, and is an administrator of this service. @returns the password:
 * the earlier one, or a new one; undefined for one that was changed in the dashboard.
 */
async function preparePerson(database: Database, settings: string | undefined): Promise<string | undefined> {
  const kept = readSetting(settings, "DASHBOARD_PASSWORD");
  const person = await findPersonByEmail(database, EMAIL);
  if (person !== undefined && kept !== undefined)
    return kept !== "" && (await hasPassword(database, person.id, kept)) ? kept : undefined;
  const password = randomBytes(12).toString("base64url");
  if (person === undefined) await addOwner(database, { accountId: ACCOUNT, email: EMAIL, name: "Demo", password });
  else await setPassword(database, person, password);
  return password;
}

function readSetting(settings: string | undefined, name: string): string | undefined {
  return new RegExp(`^${name}=(\\S*)$`, "m").exec(settings ?? "")?.[1];
}
