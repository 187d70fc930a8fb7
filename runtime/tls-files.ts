import { readFile } from "node:fs/promises";
import path from "node:path";
import { createSecureContext } from "node:tls";
import { startRounds } from "./wait.ts";

/** A server's own certificate, and the authority whose clients it accepts, in PEM. */
export interface TlsIdentity {
  /** The authority of the clients. */
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
  /** Contains ca.crt, tls.crt and tls.key, like a mounted Secret of cert-manager. */
  directory: string;
  /** The present files are invalid; the last valid ones stay in force. */
  onFailure: (error: unknown) => void;
  onRenewed: () => void;
  everyMs?: number;
}

/** Changes of mounted Secrets take about a minute to arrive: checking more often gains nothing. */
const EVERY_MS = 10_000;

/**
 * The files of a server that verifies its clients' certificates. They are reread periodically, because certificates are renewed
 * while the server runs.
 * @throws Error if they are invalid at the start.
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
    // Also detects the key of another certificate: the files may be replaced while they are read.
    createSecureContext({ ca, cert: certificate, key });
    return { ca, certificate, key };
  } catch (error) {
    throw new Error(`${directory} must contain ca.crt, tls.crt and the matching tls.key, in PEM`, { cause: error });
  }
}

function isSame(first: TlsIdentity, second: TlsIdentity): boolean {
  return first.ca.equals(second.ca) && first.certificate.equals(second.certificate) && first.key.equals(second.key);
}
