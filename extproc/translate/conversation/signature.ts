import { createHash, type Hash } from "node:crypto";

/**
 * The messages protocol signs thinking blocks, and clients send block and signature back. Chat upstreams sign nothing, so the
 * gateway puts its own tag there: it proves nothing and only identifies the block's maker.
 */
const TAG = "gw1:";
/** The tag in base64; the sixth character holds bits of what follows it. */
const ENCODED_TAG = /^Z3cxO[g-v]/;

export interface Signer {
  /** A piece of the thinking text. */
  add(text: string): void;
  /** The signature of all pieces so far: the same text of the same model always gets the same one. */
  sign(): string;
}

/** @param model the name that the client requested; an upstream's own name must not appear (S17). */
export function createSigner(model: string): Signer {
  const hash: Hash = createHash("sha256");
  return {
    // As UTF-16, because a surrogate pair may arrive in two pieces.
    add: (text) => void hash.update(text, "utf16le"),
    sign: () => Buffer.from(`${TAG}${model}:${hash.copy().digest("hex").slice(0, 32)}`).toString("base64"),
  };
}

/** Did the gateway mint this signature? Only the server that signed a thinking block accepts it back. */
export function isGatewaySignature(signature: string): boolean {
  return ENCODED_TAG.test(signature);
}
