import { expect, test } from "vitest";
import { checkKeyState, notValid, readSentKey } from "../../../../ledger/keys/check-key.ts";

const keysUrl = "https://gateway.test/dashboard/keys";
const nowMs = Date.parse("2026-11-29T12:00:00Z");
const good = { isDisabled: false, expiresAt: null };

/** LiteLLM reports a 401 as an authentication error only with OpenAI's words. */
test.for([
  [
    "of another form",
    () => readSentKey(new Map([["authorization", "Bearer sk-proj-abc"]]), keysUrl),
    ". This is an API key of another",
  ],
  [
    "that nobody has",
    () => {
      throw notValid(keysUrl);
    },
    ": it was deleted, or it is mistyped. Create a new key at",
  ],
  ["that is disabled", () => checkKeyState({ ...good, isDisabled: true }, { nowMs, keysUrl }), ": it is disabled. Enable it"],
  [
    "that has expired",
    () => checkKeyState({ ...good, expiresAt: new Date(nowMs) }, { nowMs, keysUrl }),
    ": it expired on 2026-11-29T12:00:00.000Z. ",
  ],
] as const)("a key %s is refused with the words that clients look for (S3, S18)", ([, check, rest]) => {
  const message = expect.stringContaining(`Incorrect API key provided${rest}`);
  expect(check).toThrow(expect.objectContaining({ code: "invalid_api_key", status: 401, message }));
});

test("a key that is enabled and has not expired is accepted", () => {
  expect(() => checkKeyState({ ...good, expiresAt: new Date(nowMs + 1) }, { nowMs, keysUrl })).not.toThrow();
});
