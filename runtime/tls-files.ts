import { readFile } from "node:fs/promises";
import path from "node:path";
import { createSecureContext } from "node:tls";
import { startRounds } from "./wait.ts";

/** Who a server is, and whose clients it takes. In PEM. */
export interface TlsIdentity {
  /** Of clients. */
  ca: Buffer;
  certificate: Buffer;
  key: Buffer;
}

export interface TlsFiles {
  current(): TlsIdentity;
  /** Called with each renewal. */
  onChange(listener: (identity: TlsIdentity) => void): void;
  stop(): Promise<void>;
}

export interface TlsFilesOptions {
  /** Holds ca.crt, tls.crt and tls.key, as a Secret of cert-manager does when it is mounted. */
  directory: string;
  /** What is there now cannot be used; the last that could stays in force. */
  onFailure: (error: unknown) => void;
  onRenewed: () => void;
  everyMs?: number;
}

/** Changes of mounted Secrets take about a minute to come: looking more often than this brings nothing. */
const EVERY_MS = 10_000;

/**
 * The files of a server that checks its clients' certificates, read again and again: certificates are renewed while it runs.
 * @throws Error where they cannot be used at the start.
 */
export async function startTlsFiles({ directory, onFailure, onRenewed, everyMs = EVERY_MS }: TlsFilesOptions): Promise<TlsFiles> {
  const listeners = new Set<(identity: TlsIdentity) => void>();
  let current = await read(directory);

  async function round(): Promise<void> {
    const next = await read(directory);
    if (isSame(next, current)) return;
    current = next;
    for (const listener of listeners) listener(next);
    onRenewed();
  }
  const rounds = startRounds(round, { everyMs, onFailure });

  return {
    current: () => current,
    onChange: (listener) => void listeners.add(listener),
    stop: () => rounds.stop(),
  };
}

async function read(directory: string): Promise<TlsIdentity> {
  const file = (name: string) => readFile(path.join(directory, name));
  try {
    const [ca, certificate, key] = await Promise.all([file("ca.crt"), file("tls.crt"), file("tls.key")]);
    // Tells a key of another certificate, too: files may be read while they are exchanged.
    createSecureContext({ ca, cert: certificate, key });
    return { ca, certificate, key };
  } catch (error) {
    throw new Error(`${directory} must hold ca.crt, tls.crt and its tls.key, in PEM`, { cause: error });
  }
}

function isSame(first: TlsIdentity, second: TlsIdentity): boolean {
  return first.ca.equals(second.ca) && first.certificate.equals(second.certificate) && first.key.equals(second.key);
}
