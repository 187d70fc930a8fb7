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
import type { TrustedProxies } from "./config/trusted-proxies.ts";
import type { WebhookNetworks } from "./webhooks/networks.ts";

/** What pages and the management API work with. */
export interface AppDeps {
  database: Database;
  /** Where reports are read; not given: from the database. */
  reports?: Reader | undefined;
  log: Logger;
  pepper: Buffer;
  publicBaseUrl: string;
  signUp: SignUpRules;
  /** Not given: required. */
  adminSecondFactor?: AdminSecondFactor | undefined;
  /** The service's terms, plain text. */
  terms?: string | undefined;
  /** Not given: documents name the host, and there is no contact. */
  operator?: Operator | undefined;
  /** Not given: nobody can be written to. */
  mailer?: Mailer | undefined;
  /** Not given: nobody signs in elsewhere. */
  providers?: readonly Provider[] | undefined;
  /** Not given: of none. */
  providerDomains?: ProviderDomains | undefined;
  /** Not given: browsers offer none at this address. */
  passkeys?: Passkeys | undefined;
  /** Not given: nobody can pay. */
  payments?: Payments | undefined;
  /** Not given: none; who comes to Envoy is the client. */
  trustedProxies?: TrustedProxies | undefined;
  /** Where webhooks may be; not given: on the public internet. */
  webhookNetworks?: WebhookNetworks | undefined;
  /** Not given: plain HTTP. */
  serverFactory?: FastifyServerFactory | undefined;
  /** Told of each route, so that a test can try them all. */
  onRoute?: (route: RouteOptions) => void;
}
