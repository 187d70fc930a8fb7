import type { ZxcvbnFactory } from "@zxcvbn-ts/core";
import { GatewayError } from "../../contract/errors.ts";

/** A million guesses: below that, a leaked list or a keyboard's rows suffice. */
const MIN_SCORE = 2;
/** Longer texts take the estimate seconds, and a good beginning is enough. */
const CHARACTERS_LOOKED_AT = 24;

/**
 * Rejects a new password that is among the first guesses.
 * @param about publicly known facts about its owner: email address, name.
 * @throws GatewayError `invalid_request` with field `password`.
 */
export async function checkStrength(password: string, about: readonly string[]): Promise<void> {
  const { score } = (await estimator()).check(password.slice(0, CHARACTERS_LOOKED_AT), about.flatMap(partsOf));
  if (score < MIN_SCORE)
    throw new GatewayError("invalid_request", "This password is easy to guess. Choose a few unrelated words.", {
      field: "password",
    });
}

function partsOf(text: string): string[] {
  return [text, text.replace(/@.*/, ""), ...text.split(/[^\p{L}\p{N}]+/u)].filter((part) => part.length > 2).slice(0, 8);
}

let loaded: Promise<ZxcvbnFactory> | undefined;

/** Its lists take 40 MB: a process in which nobody chooses a password does not load them. */
function estimator(): Promise<ZxcvbnFactory> {
  return (loaded ??= loadEstimator());
}

async function loadEstimator(): Promise<ZxcvbnFactory> {
  const [core, { adjacencyGraphs, dictionary }] = await Promise.all([
    import("@zxcvbn-ts/core"),
    import("@zxcvbn-ts/language-common"),
  ]);
  return new core.ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
}
