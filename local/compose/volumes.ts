import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { stringify } from "yaml";
import { readOptional, writeSecret } from "../data-directory.ts";
import { readPepper, readProviderKeysSecret } from "../demo.ts";
import { composeBootstrap } from "./bootstrap.ts";

/** The user of the programs in their containers. */
export interface Owner {
  uid: number;
  gid: number;
}

/** The volumes of compose.yaml, each a folder below one root. */
export const VOLUMES = {
  databasePassword: "database-password",
  settings: "settings",
  operatorSettings: "operator-settings",
  envoy: "envoy",
  sockets: "sockets",
  journal: "journal",
} as const;

const PASSWORD_BYTES = 24;

/**
 * Fills the volumes that the containers share: secrets, created at the first start and kept; Envoy's bootstrap, rewritten at each
 * start, so that a new version brings its own; and directories that only `owner` can enter.
 * @throws Error with one sentence if a secret was emptied.
 */
export async function prepareVolumes(root: string, owner: Owner): Promise<void> {
  const within = (volume: keyof typeof VOLUMES, ...names: string[]) => path.join(root, VOLUMES[volume], ...names);
  for (const volume of ["settings", "operatorSettings", "sockets", "journal"] as const) await makeOwn(within(volume), owner);

  const password = await readPassword(within("databasePassword", "password"));
  const pepper = await readPepper(within("settings", "pepper"));
  const settings = {
    DATABASE_URL: `postgresql://gateway:${password}@postgres:5432/gateway`,
    KEY_PEPPER: pepper.toString("base64"),
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  await writeSecret(within("settings", "gateway.env"), lines.join(""));
  for (const name of ["pepper", "gateway.env"]) await chown(within("settings", name), owner.uid, owner.gid);

  // A volume of its own: no other program may open what accounts have entered.
  const providerKeys = await readProviderKeysSecret(within("operatorSettings", "provider-keys"));
  await writeSecret(within("operatorSettings", "operator.env"), `PROVIDER_KEYS_SECRET=${providerKeys}\n`);
  for (const name of ["provider-keys", "operator.env"]) await chown(within("operatorSettings", name), owner.uid, owner.gid);

  await mkdir(within("envoy"), { recursive: true });
  await writeFile(within("envoy", "envoy.yaml"), stringify(composeBootstrap()));
}

async function makeOwn(directory: string, { uid, gid }: Owner): Promise<void> {
  await mkdir(directory, { recursive: true });
  await chmod(directory, 0o700);
  await chown(directory, uid, gid);
}

async function readPassword(file: string): Promise<string> {
  const kept = await readOptional(file);
  if (kept !== undefined) {
    if (kept.trim() !== "") return kept.trim();
    throw new Error(
      `The database password is missing from ${file}: restore it from a backup, or start with an empty database after docker compose down --volumes.`,
    );
  }
  await mkdir(path.dirname(file), { recursive: true });
  const password = randomBytes(PASSWORD_BYTES).toString("base64url");
  await writeSecret(file, password);
  return password;
}
