import type { LeaseRules } from "../ledger/leases/lease.ts";
import type { TrustedProxies } from "../runtime/trusted-proxies.ts";
import type { AccessLogChoice } from "./access-log.ts";

export interface ExtprocConfig {
  databaseUrl: string;
  /** `host:port` or `unix:/path`, the address for Envoy. */
  listen: string;
  /** Where Envoy accepts streams that may be answered early, in the same form; null if none are. */
  earlyAnswersAddress: string | null;
  /** Where Envoy accepts the requests of batches, in the same form; null if this process sends none. */
  batchesAddress: string | null;
  /** Port of the admin interface. A worker has none: it answers its supervisor. */
  admin: { host: string; port: number } | "supervisor";
  /** This process's number among those of one Envoy, from 0, and their count. */
  worker: { number: number; of: number };
  pepper: Buffer;
  /** Base URL for clients; part of messages. */
  publicBaseUrl: string;
  /** Where usage is kept until Postgres has it; it survives this process, and belongs to this machine. */
  journalDirectory: string;
  lease: LeaseRules;
  /** How long charges are collected before one batch writes them to Postgres. */
  settleEveryMs: number;
  /** Days for which single requests' usage is kept; null: forever. */
  usageRetentionDays: number | null;
  /** Maximum concurrent requests; more are refused (S22). */
  maxOpenRequests: number;
  /** Bytes of bodies that all workers of one Envoy hold at once; more are refused. */
  maxBodyBytes: number;
  /** Bytes of responses that all accounts together store, in all processes of one database. */
  maxStoredBytes: number;
  /** Bytes of prompts and answers that all accounts together record, in all processes of one database; 0: none are recorded. */
  maxPromptLogBytes: number;
  accessLog: AccessLogChoice;
  /** The proxies in front of Envoy that name the client. */
  trustedProxies: TrustedProxies;
  /** Whether Envoy sends spans. */
  isTraced: boolean;
  /** How long running streams may take to finish at shutdown. */
  drainMs: number;
}
