import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";

/** The certificate authorities that an administrator adds to the public ones. */
export interface ExtraRoots {
  usable: readonly NamedRoot[];
  unusable: readonly UnusableRoot[];
}

export interface NamedRoot {
  /** For people: its number and line in the file, and its subject. */
  name: string;
  pem: string;
}

export interface UnusableRoot {
  /** As in NamedRoot, or the file. */
  name: string;
  why: string;
}

/** With the end, or up to the next block or the end of the file. */
const BLOCK = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^]*?(?:-----END [A-Z0-9 ]+-----|(?=-----BEGIN )|$)/g;

/**
 * Makes this process trust every readable certificate in the file that NODE_EXTRA_CA_CERTS names: Node.js itself loads none that
 * comes after one that it cannot read. To be called before the first connection.
 */
export function trustExtraRoots(
  { NODE_EXTRA_CA_CERTS: file = "" }: Readonly<Record<string, string | undefined>>,
  warn: (sentence: string) => void = () => undefined,
): ExtraRoots {
  if (file === "") return { usable: [], unusable: [] };
  const roots = readFile(file);
  for (const root of roots.unusable) warn(describeUnusableRoot(root));
  const trusted = new Set(getCACertificates("default"));
  const skipped = roots.usable.flatMap(({ pem }) => (trusted.has(pem) ? [] : [pem]));
  if (skipped.length > 0) setDefaultCACertificates([...trusted, ...skipped]);
  return roots;
}

export function describeUnusableRoot({ name, why }: UnusableRoot): string {
  return `NODE_EXTRA_CA_CERTS: ${name} is not used: ${why}`;
}

function readFile(file: string): ExtraRoots {
  try {
    return parseExtraRoots(readFileSync(file, "utf8"));
  } catch (error) {
    return { usable: [], unusable: [{ name: file, why: messageOf(error) }] };
  }
}

/** Each certificate once, as Node.js writes it. */
export function parseExtraRoots(text: string): ExtraRoots {
  const usable = new Map<string, NamedRoot>();
  const unusable: UnusableRoot[] = [];
  for (const [at, { 0: block, index }] of [...text.matchAll(BLOCK)].entries()) {
    const where = `certificate ${at + 1} (line ${text.slice(0, index).split("\n").length}`;
    try {
      const certificate = new X509Certificate(block);
      const pem = certificate.toString();
      const name = `${where}, ${certificate.subject.replaceAll("\n", ", ")})`;
      if (!usable.has(pem)) usable.set(pem, { name, pem });
    } catch (error) {
      unusable.push({ name: `${where})`, why: messageOf(error) });
    }
  }
  return { usable: [...usable.values()], unusable };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
