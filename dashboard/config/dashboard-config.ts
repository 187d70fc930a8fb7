import type { MailConfig } from "../mail/mailer.ts";
import type { ProviderConfig } from "../oidc/config.ts";
import type { ProviderDomains } from "../oidc/provider-domains.ts";
import type { Operator } from "./operator.ts";
import type { PaymentsConfig } from "../payments/payments.ts";
import type { AdminSecondFactor } from "./second-factor-policy.ts";
import type { SignUpRules } from "./sign-up-rules.ts";
import type { TrustedProxies } from "../../runtime/trusted-proxies.ts";
import type { TargetNetworks } from "../outbound/networks.ts";

export interface DashboardConfig {
  databaseUrl: string;
  /** A streaming replica for reports; if absent, the main database. */
  reportsUrl?: string | undefined;
  /** Used to hash keys; the same as extproc's. */
  pepper: Buffer;
  /** Base URL for clients, without `/v1` and without a trailing slash. */
  publicBaseUrl: string;
  /** Reached only through Envoy. */
  listen: { host: string; port: number };
  /** Directory with ca.crt, tls.crt and tls.key: Envoy then needs a certificate of that authority. If absent, plain HTTP. */
  tlsDirectory?: string | undefined;
  admin: { host: string; port: number };
  signUp: SignUpRules;
  adminSecondFactor: AdminSecondFactor;
  mail: MailConfig;
  /** Path of a plain text file. */
  termsFile: string | undefined;
  /** Additional sign-in providers. */
  providers: readonly ProviderConfig[];
  providerDomains: ProviderDomains;
  payments: PaymentsConfig;
  operator: Operator;
  trustedProxies: TrustedProxies;
  targetNetworks: TargetNetworks;
  /** Bytes of the files, requests and results of the batches of all accounts together. */
  maxBatchBytes: number;
  /** Bytes of the prompts and answers that all accounts together record; 0: none are. */
  maxPromptLogBytes: number;
}
