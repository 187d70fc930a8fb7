import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface TlsCertificates {
  /** PEM of the authority. */
  ca: string;
  certificate: string;
  key: string;
}

export interface Authority {
  /** A certificate made out to one name and its IP addresses, for both sides of a connection unless a use is given. */
  issue(
    name: string,
    options?: { address?: string | readonly string[]; usage?: "serverAuth" | "clientAuth" },
  ): Promise<TlsCertificates>;
  remove(): Promise<void>;
}

const CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/** An authority of a few days. Needs `openssl` on PATH. */
export async function makeAuthority(): Promise<Authority> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-tls-"));
  const file = (name: string) => join(directory, name);
  const root = [
    "-x509",
    ...CURVE,
    "-days",
    "3",
    "-subj",
    "/CN=test authority",
    "-keyout",
    file("ca.key"),
    "-out",
    file("ca.crt"),
  ];
  await openssl(["req", ...root]);
  let issued = 0;
  return {
    async issue(name, { address, usage } = {}) {
      const prefix = `${issued++}`;
      const [key, request, extensions, certificate] = ["key", "csr", "names", "crt"].map((suffix) => file(`${prefix}.${suffix}`));
      await openssl(["req", ...CURVE, "-subj", `/CN=${name}`, "-keyout", key ?? "", "-out", request ?? ""]);
      const addresses = [address ?? []].flat().map((each) => `,IP:${each}`);
      const names = `subjectAltName=DNS:${name}${addresses.join("")}\n`;
      await writeFile(extensions ?? "", names + (usage === undefined ? "" : `extendedKeyUsage=${usage}\n`));
      const signing = [
        "-CA",
        file("ca.crt"),
        "-CAkey",
        file("ca.key"),
        "-CAcreateserial",
        "-days",
        "3",
        "-extfile",
        extensions ?? "",
      ];
      await openssl(["x509", "-req", "-in", request ?? "", ...signing, "-out", certificate ?? ""]);
      const read = (path = "") => readFile(path, "utf8");
      return { ca: await read(file("ca.crt")), certificate: await read(certificate), key: await read(key) };
    },
    remove: () => rm(directory, { recursive: true }),
  };
}

async function openssl(parameters: readonly string[]): Promise<void> {
  try {
    await run("openssl", parameters);
  } catch (error) {
    throw new Error("Test certificates could not be made: install openssl (Debian package `openssl`).", { cause: error });
  }
}

/** An authority of its own, and a certificate that it made out to one name and IP address. */
export async function makeCertificates(name: string, address?: string): Promise<TlsCertificates> {
  const authority = await makeAuthority();
  try {
    return await authority.issue(name, address === undefined ? {} : { address });
  } finally {
    await authority.remove();
  }
}

/**
 * The same certificate with an outer length that is not the shortest: OpenSSL, and with it Node.js, reads it, but Envoy's BoringSSL
 * does not.
 */
export function withLongLength(pem: string): string {
  const der = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ""), "base64");
  const lengthBytes = (der[1] ?? 0) < 0x80 ? 1 : 1 + ((der[1] ?? 0) & 0x7f);
  const content = der.subarray(1 + lengthBytes);
  const long = Buffer.concat([Buffer.from([0x30, 0x83, 0, content.length >> 8, content.length & 0xff]), content]);
  return `-----BEGIN CERTIFICATE-----\n${long.toString("base64").replaceAll(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`;
}

/** The same certificate with a date in which the time zone is missing: Node.js reads it, but Envoy's BoringSSL does not. */
export function withBadDate(pem: string): string {
  const der = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ""), "base64");
  const zone = /\d{12}Z/.exec(der.toString("latin1"));
  if (zone === null) throw new Error("The certificate has no date.");
  der[zone.index + 12] = 0x30;
  return `-----BEGIN CERTIFICATE-----\n${der.toString("base64").replaceAll(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`;
}
