import type { FastifyServerFactory, RouteOptions } from "fastify";
import type { Database, Reader } from "../ledger/postgres/database.ts";
import type { Logger } from "../runtime/log.ts";
import type { Mailer } from "./mail/letter.ts";
import type { Operator } from "./config/operator.ts";
import type { ProviderDomains } from "./oidc/provider-domains.ts";
import type { Provider } from "./oidc/provider.ts";
import type { Passkeys } from "./passkeys/passkeys.ts";
import type { Payments } from "./payments/payments.ts";
import type { AdminSecondFactor } from "./config/second-factor-policy.ts";
import type { SignUpRules } from "./config/sign-up-rules.ts";
import type { TrustedProxies } from "../runtime/trusted-proxies.ts";
import type { TargetNetworks } from "./outbound/networks.ts";

/** Dependencies of the pages and the management API. */
export interface AppDeps {
  database: Database;
  /** Database for reports; if absent, the main database. */
  reports?: Reader | undefined;
  log: Logger;
  pepper: Buffer;
  publicBaseUrl: string;
  signUp: SignUpRules;
  /** Required if absent. */
  adminSecondFactor?: AdminSecondFactor | undefined;
  /** The service's terms, plain text. */
  terms?: string | undefined;
  /** If absent, documents name the host, and there is no contact. */
  operator?: Operator | undefined;
  /** If absent, no mail can be sent. */
  mailer?: Mailer | undefined;
  /** If absent, there are no sign-in providers. */
  providers?: readonly Provider[] | undefined;
  /** If absent, no domain is bound. */
  providerDomains?: ProviderDomains | undefined;
  /** If absent, browsers offer no passkeys at this address. */
  passkeys?: Passkeys | undefined;
  /** If absent, payments are not possible. */
  payments?: Payments | undefined;
  /** If absent, no proxy is trusted: the client is the peer that connected to Envoy. */
  trustedProxies?: TrustedProxies | undefined;
  /** Allowed targets of webhooks; if absent, the public internet. */
  targetNetworks?: TargetNetworks | undefined;
  /** Bytes of the batches of all accounts; if absent, 20 GiB. */
  maxBatchBytes?: number | undefined;
  /** Bytes of the prompts and answers that all accounts record; 0: none are. If absent, they are. */
  maxPromptLogBytes?: number | undefined;
  /** If absent, plain HTTP. */
  serverFactory?: FastifyServerFactory | undefined;
  /** Is called for each route, so that a test can try them all. */
  onRoute?: (route: RouteOptions) => void;
}
