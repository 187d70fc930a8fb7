import { expect, test } from "vitest";
import { boxKey, boxKeyId, openSealed, sealTo } from "../../../runtime/sealed-box.ts";

const KEY = boxKey(Buffer.alloc(32, 1));
const OTHER = boxKey(Buffer.alloc(32, 2));
const TEXT = "px-live-Zk3v9QmT7wLr2YbN";

test("what is sealed to a key opens with it, about the same thing, and with nothing else", () => {
  const sealed = sealTo(KEY.publicKey, TEXT, "mine");
  expect(openSealed(KEY, sealed, "mine")).toBe(TEXT);
  expect(openSealed(KEY, sealed, "yours")).toBeUndefined();
  expect(openSealed(OTHER, sealed, "mine")).toBeUndefined();
});

test("two sealed texts have nothing in common, and none of them the text", () => {
  const [one, two] = [sealTo(KEY.publicKey, TEXT, "mine"), sealTo(KEY.publicKey, TEXT, "mine")];
  expect(one.equals(two)).toBe(false);
  expect(one.subarray(1, 33).equals(two.subarray(1, 33))).toBe(false);
  expect(one.includes(TEXT)).toBe(false);
});

test("a change of any byte, and any other length, is noticed", () => {
  const sealed = sealTo(KEY.publicKey, TEXT, "mine");
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(openSealed(KEY, changed, "mine"), String(at)).toBeUndefined();
  }
  for (let length = 0; length < sealed.length; length++)
    expect(openSealed(KEY, sealed.subarray(0, length), "mine")).toBeUndefined();
});

test("a sender whose key has no secret in common with any other opens nothing", () => {
  const sealed = sealTo(KEY.publicKey, TEXT, "mine");
  expect(openSealed(KEY, Buffer.concat([sealed.subarray(0, 1), Buffer.alloc(32), sealed.subarray(33)]), "mine")).toBeUndefined();
  expect(() => sealTo(Buffer.alloc(32), TEXT, "mine")).toThrow(/deriv/i);
});

test("a private key has 32 bytes, and a public key that names it", () => {
  expect(() => boxKey(Buffer.alloc(31))).toThrow("32 bytes");
  expect(KEY.publicKey).toHaveLength(32);
  expect(KEY.id).toBe(boxKeyId(KEY.publicKey));
  expect(KEY.id).not.toBe(OTHER.id);
});
