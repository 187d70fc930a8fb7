import { hash, verify } from "@node-rs/argon2";
import { GatewayError } from "../../contract/errors.ts";
import { createHashQueue } from "./hash-queue.ts";

/** OWASP's first choice of 2025: 46 MiB, one pass. argon2id is the package's default. */
const COST = { memoryCost: 47_104, timeCost: 1, parallelism: 1 };
const MIN_CHARACTERS = 10;
const MAX_CHARACTERS = 200;

/** For the whole process: cores and memory are shared by everybody who signs in. */
const queued = createHashQueue();

/** @throws GatewayError `invalid_request` for one that is too short or too long; `overloaded` while too many wait. */
export async function hashPassword(password: string): Promise<string> {
  checkLength(password);
  return rehashPassword(password);
}

/** @throws GatewayError `invalid_request` for one that is too short or too long. */
export function checkLength(password: string): void {
  if (password.length < MIN_CHARACTERS)
    throw new GatewayError("invalid_request", `A password has at least ${MIN_CHARACTERS} characters.`, { field: "password" });
  if (password.length > MAX_CHARACTERS)
    throw new GatewayError("invalid_request", `A password can have at most ${MAX_CHARACTERS} characters.`, { field: "password" });
}

/** A password already in use: the requirements for new ones do not apply. */
export async function rehashPassword(password: string): Promise<string> {
  return queued("make", () => hash(password, COST));
}

/** Whether it was created with parameters other than the current ones. */
export function isOutdated(stored: string): boolean {
  return !stored.startsWith(`$argon2id$v=19$m=${COST.memoryCost},t=${COST.timeCost},p=${COST.parallelism}$`);
}

/**
 * Takes as long for a person who does not exist: its duration must not reveal who has an account.
 * @throws GatewayError `overloaded` while too many wait.
 */
export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  const isRight = await queued("check", async () => verify(stored ?? (await decoy()), password.slice(0, MAX_CHARACTERS)));
  return isRight && stored !== undefined;
}

let decoyHash: Promise<string> | undefined;

function decoy(): Promise<string> {
  return (decoyHash ??= hash("nobody has this password", COST));
}
