import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSigner, isGatewaySignature } from "../../../../../extproc/translate/conversation/signature.ts";

function sign(model: string, pieces: readonly string[]): string {
  const signer = createSigner(model);
  for (const piece of pieces) signer.add(piece);
  return signer.sign();
}

describe("signatures of thinking blocks", () => {
  test("the gateway recognises its own, for any model", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string(), (model, text) => {
        expect(isGatewaySignature(sign(model, [text]))).toBe(true);
      }),
    );
  });

  test("it does not recognise others' as its own", () => {
    for (const signature of ["", "EqQBCkYIBxgCKkA", "3f0c6f6e-1c5e-4c1b-9f5e-0c8f3a1f2b11", "Z3cx", "gw1:x", "Z3cxPabc"]) {
      expect(isGatewaySignature(signature)).toBe(false);
    }
  });

  test("splitting the text anywhere makes no difference, even within a surrogate pair", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.nat(), (text, at) => {
        const cut = text.length === 0 ? 0 : at % text.length;
        expect(sign("m", [text.slice(0, cut), text.slice(cut)])).toBe(sign("m", [text]));
      }),
    );
  });

  test("another text, or another model, has another signature", () => {
    expect(sign("m", ["a"])).not.toBe(sign("m", ["b"]));
    expect(sign("m", ["a"])).not.toBe(sign("n", ["a"]));
  });
});
