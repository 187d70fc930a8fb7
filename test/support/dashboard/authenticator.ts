import { createHash, createSign, generateKeyPairSync, randomBytes } from "node:crypto";
import { isoCBOR } from "@simplewebauthn/server/helpers";
import * as z from "zod";

/** A software authenticator that gives any answer a test wants, including wrong ones. */
export interface Authenticator {
  credentialId: string;
  /** For `options` of a page that registers one. */
  create(options: string, lies?: Lies): string;
  /** For `options` of a page that asks for one. */
  get(options: string, lies?: Lies): string;
}

export interface Lies {
  origin?: string;
  rpId?: string;
  type?: string;
  challenge?: string;
  isUserVerified?: boolean;
  /** Of the last signature. */
  signCount?: number;
  /** Base64url; null: none. */
  userHandle?: string | null;
  /** Of an attestation that nobody asked for. */
  certificates?: readonly Uint8Array<ArrayBuffer>[];
}

const optionsSchema = z.object({
  challenge: z.string(),
  rp: z.object({ id: z.string() }).optional(),
  rpId: z.string().optional(),
  user: z.object({ id: z.string() }).optional(),
});
const coordinates = z.object({ x: z.string(), y: z.string() });

export function createAuthenticator(origin: string): Authenticator {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const id = randomBytes(32);
  const credentialId = id.toString("base64url");
  let signCount = 0;
  let userHandle: string | null = null;

  function authenticatorData(rpId: string, { isUserVerified = true, signCount: count }: Lies, isNew: boolean): Buffer {
    const flags = 0x01 | (isUserVerified ? 0x04 : 0) | (isNew ? 0x40 : 0);
    const head = Buffer.alloc(5);
    head.writeUInt8(flags, 0);
    head.writeUInt32BE(count ?? ++signCount, 1);
    return Buffer.concat([createHash("sha256").update(rpId).digest(), head, ...(isNew ? [attestedCredential()] : [])]);
  }

  function attestedCredential(): Buffer {
    const { x, y } = coordinates.parse(publicKey.export({ format: "jwk" }));
    const key = new Map<number, number | Uint8Array<ArrayBuffer>>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Uint8Array.from(Buffer.from(x, "base64url"))],
      [-3, Uint8Array.from(Buffer.from(y, "base64url"))],
    ]);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    return Buffer.concat([Buffer.alloc(16), length, id, isoCBOR.encode(key)]);
  }

  const clientData = (type: string, challenge: string, lies: Lies) =>
    Buffer.from(
      JSON.stringify({ type: lies.type ?? type, challenge: lies.challenge ?? challenge, origin: lies.origin ?? origin }),
    );

  function answer(response: object): string {
    return JSON.stringify({ id: credentialId, rawId: credentialId, type: "public-key", response, clientExtensionResults: {} });
  }

  return {
    credentialId,
    create(text, lies = {}) {
      const options = optionsSchema.parse(JSON.parse(text));
      userHandle = options.user?.id ?? null;
      const attestation = new Map<string, string | Uint8Array<ArrayBuffer> | Map<string, Uint8Array<ArrayBuffer>[]>>([
        ["fmt", lies.certificates === undefined ? "none" : "packed"],
        ["attStmt", new Map(lies.certificates === undefined ? [] : [["x5c", [...lies.certificates]]])],
        ["authData", Uint8Array.from(authenticatorData(lies.rpId ?? options.rp?.id ?? "", lies, true))],
      ]);
      return answer({
        clientDataJSON: clientData("webauthn.create", options.challenge, lies).toString("base64url"),
        attestationObject: Buffer.from(isoCBOR.encode(attestation)).toString("base64url"),
        transports: ["internal"],
      });
    },
    get(text, lies = {}) {
      const options = optionsSchema.parse(JSON.parse(text));
      const client = clientData("webauthn.get", options.challenge, lies);
      const data = authenticatorData(lies.rpId ?? options.rpId ?? "", lies, false);
      const signed = createSign("sha256").update(data).update(createHash("sha256").update(client).digest());
      return answer({
        clientDataJSON: client.toString("base64url"),
        authenticatorData: data.toString("base64url"),
        signature: signed.sign(privateKey).toString("base64url"),
        userHandle: lies.userHandle === undefined ? userHandle : lies.userHandle,
      });
    },
  };
}
