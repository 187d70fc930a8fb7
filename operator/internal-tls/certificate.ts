// For the library below: it registers its parts with decorators.
import "reflect-metadata";
import { createPrivateKey, webcrypto } from "node:crypto";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** A certificate and its key, in PEM. */
export interface KeyPair {
  certificate: string;
  key: string;
}

type CertificateUse = "client" | "server";

export interface CertificateOptions {
  authority: KeyPair;
  use: CertificateUse;
  /** Name that it is issued for. */
  host: string;
  nowMs: number;
  lifetimeMs: number;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
/** Clocks of nodes differ. */
const BACKDATED_MS = 5 * 60_000;

/** @throws any problem with the authority. */
export async function issueCertificate({ authority, use, host, nowMs, lifetimeMs }: CertificateOptions): Promise<KeyPair> {
  const issuer = new X509Certificate(authority.certificate);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.create({
    // Short enough for the 64 characters of a common name; the alternative name is the one that counts.
    subject: `CN=${host.split(".")[0] ?? ""}`,
    issuer: issuer.subject,
    publicKey: keys.publicKey,
    signingKey: await importKey(authority.key),
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(nowMs - BACKDATED_MS),
    notAfter: new Date(nowMs + lifetimeMs),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([use === "client" ? ExtendedKeyUsage.clientAuth : ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([{ type: "dns", value: host }]),
    ],
  });
  return { certificate: certificate.toString("pem"), key: await exportKey(keys.privateKey) };
}

/** Helm writes keys in another format than the imported one. */
async function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const bytes = createPrivateKey(pem).export({ type: "pkcs8", format: "der" });
  return await webcrypto.subtle.importKey("pkcs8", bytes, ALGORITHM, false, ["sign"]);
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const bytes = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", key));
  return createPrivateKey({ key: bytes, type: "pkcs8", format: "der" }).export({ type: "pkcs8", format: "pem" }).toString();
}
