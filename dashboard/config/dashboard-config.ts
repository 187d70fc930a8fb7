import type { MailConfig } from "../mail/mailer.ts";
import type { ProviderConfig } from "../oidc/config.ts";
import type { ProviderDomains } from "../oidc/provider-domains.ts";
import type { Operator } from "./operator.ts";
import type { PaymentsConfig } from "../payments/payments.ts";
import type { AdminSecondFactor } from "./second-factor-policy.ts";
import type { SignUpRules } from "./sign-up-rules.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";
import type { WebhookNetworks } from "../webhooks/networks.ts";

export interface DashboardConfig {
  databaseUrl: string;
  /** Of a streaming replica. Not given: reports are read from the database, too. */
  reportsUrl?: string | undefined;
  /** That keys are hashed with; the same as extproc's. */
  pepper: Buffer;
  /** What clients are configured with, without `/v1` and without a slash at the end. */
  publicBaseUrl: string;
  /** Reached through Envoy alone. */
  listen: { host: string; port: number };
  /** Holds ca.crt, tls.crt and tls.key: Envoy then needs a certificate of that authority. Not given: plain. */
  tlsDirectory?: string | undefined;
  admin: { host: string; port: number };
  signUp: SignUpRules;
  adminSecondFactor: AdminSecondFactor;
  mail: MailConfig;
  /** Path of a plain text. */
  termsFile: string | undefined;
  /** Where people sign in, too. */
  providers: readonly ProviderConfig[];
  providerDomains: ProviderDomains;
  payments: PaymentsConfig;
  operator: Operator;
  trustedProxies: TrustedProxies;
  webhookNetworks: WebhookNetworks;
}
