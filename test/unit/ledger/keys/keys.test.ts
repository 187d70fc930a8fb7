import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { hashSecret, isSecretOf, maskApiKey, mintApiKey, parseApiKey } from "../../../../ledger/keys/keys.ts";

const PEPPER = Buffer.alloc(32, 1);
const PUBLIC_ID = "AbCdEfGh1234";
const SECRET = "s".repeat(43);

describe("a new key", () => {
  test("has the documented form and reads back as its parts (S24)", () => {
    const { publicId, secret, value } = mintApiKey(randomBytes);
    expect(value).toMatch(/^sk-mg-[0-9A-Za-z]{55}$/);
    expect(parseApiKey(value)).toEqual({ kind: "key", publicId, secret });
  });

  test("discards the bytes that would make some characters likelier", () => {
    // 248 to 255 would stand for the first eight characters a fifth time.
    const bytes = [255, 0, 248, 61, 250, 62, 247];
    let next = 0;
    const { publicId } = mintApiKey((size) => Buffer.from(Array.from({ length: size }, () => bytes[next++ % bytes.length] ?? 0)));
    expect(publicId).toBe("0z0z0z0z0z0z");
  });

  test("uses every character about equally often", () => {
    const counts = new Map<string, number>();
    for (let made = 0; made < 2000; made++) {
      for (const character of mintApiKey(randomBytes).secret) counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    const expected = (2000 * 43) / 62;
    expect(counts.size).toBe(62);
    // Seven standard deviations: by chance once in some hundred million runs.
    expect(Math.max(...[...counts.values()].map((count) => Math.abs(count - expected)))).toBeLessThan(7 * Math.sqrt(expected));
  });
});

describe("a credential", () => {
  test.for([maskApiKey(PUBLIC_ID), "sk-mg-AbCd…****…", "sk-mg-…****…", "sk-mg-AbCd...", `sk-mg-${"*".repeat(55)}`])(
    "that is masked, %s, is recognised (S18)",
    (text) => {
      expect(parseApiKey(text)).toEqual({ kind: "masked" });
    },
  );

  test.for([
    "",
    "sk-mg-",
    `sk-mg-${PUBLIC_ID}${SECRET}x`,
    `sk-mg-${PUBLIC_ID}${SECRET.slice(1)}`,
    `SK-MG-${PUBLIC_ID}${SECRET}`,
    `sk-mg-${PUBLIC_ID}${SECRET.slice(1)}-`,
    `sk-mg-${PUBLIC_ID}${SECRET}\n`,
    `sk-${PUBLIC_ID}${SECRET}`,
    "sk-other-****",
  ])("of another form, %j, is malformed", (text) => {
    expect(parseApiKey(text)).toEqual({ kind: "malformed" });
  });
});

test("the masked form shows both ends of the public id and nothing of the secret (S24)", () => {
  expect(maskApiKey(PUBLIC_ID)).toBe("sk-mg-AbCd****1234");
});

describe("a stored hash", () => {
  const stored = { secretHash: hashSecret(PEPPER, SECRET), previousSecret: null };

  test("matches its own secret", () => {
    expect(isSecretOf(stored, { pepper: PEPPER, secret: SECRET, nowMs: 0 })).toBe(true);
  });

  test("matches no other secret, no other pepper and no cut hash", () => {
    expect(isSecretOf(stored, { pepper: PEPPER, secret: `${SECRET.slice(1)}t`, nowMs: 0 })).toBe(false);
    expect(isSecretOf(stored, { pepper: Buffer.alloc(32, 2), secret: SECRET, nowMs: 0 })).toBe(false);
    const cut = { ...stored, secretHash: stored.secretHash.subarray(1) };
    expect(isSecretOf(cut, { pepper: PEPPER, secret: SECRET, nowMs: 0 })).toBe(false);
  });
});
