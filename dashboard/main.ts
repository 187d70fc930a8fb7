import * as z from "zod";
import { PROMPT_LOG_VARIABLES } from "../contract/prompt-log.ts";
import { DATABASE_VARIABLES, databaseUrl } from "../ledger/postgres/database-url.ts";
import { orExit, portVariable, readEnvOrExit } from "../runtime/env.ts";
import { trustExtraRoots } from "../runtime/extra-roots.ts";
import { createLifecycle, exitOnSignals } from "../runtime/lifecycle.ts";
import { createCountedLog } from "../runtime/log.ts";
import { startDashboard } from "./dashboard.ts";
import { MAIL_VARIABLES, mailConfig } from "./mail/mailer.ts";
import { OIDC_VARIABLES, providerConfigs } from "./oidc/config.ts";
import { PROVIDER_DOMAIN_VARIABLES, providerDomains } from "./oidc/provider-domains.ts";
import { OPERATOR_VARIABLES, operatorConfig } from "./config/operator.ts";
import { PAYMENTS_VARIABLES, paymentsConfig } from "./payments/payments.ts";
import { SECOND_FACTOR_VARIABLES } from "./config/second-factor-policy.ts";
import { SIGN_UP_VARIABLES, signUpRules } from "./config/sign-up-rules.ts";
import { TRUSTED_PROXY_VARIABLES, trustedProxies } from "../runtime/trusted-proxies.ts";
import { TARGET_VARIABLES } from "./outbound/networks.ts";

const environment = readEnvOrExit(
  {
    ...DATABASE_VARIABLES,
    DATABASE_REPORTS_URL: DATABASE_VARIABLES.DATABASE_URL.optional(),
    KEY_PEPPER: z.base64().min(44, "must be at least 32 random bytes in base64"),
    PUBLIC_BASE_URL: z.url(),
    DASHBOARD_HOST: z.string().default("127.0.0.1"),
    DASHBOARD_PORT: portVariable.default(8090),
    /** With ca.crt, tls.crt and tls.key: callers need a certificate of that authority. If absent, plain HTTP. */
    DASHBOARD_TLS_DIRECTORY: z.string().min(1).optional(),
    ADMIN_HOST: z.string().default("127.0.0.1"),
    ADMIN_PORT: portVariable.default(9006),
    ...SIGN_UP_VARIABLES,
    ...MAIL_VARIABLES,
    ...OIDC_VARIABLES,
    ...PROVIDER_DOMAIN_VARIABLES,
    ...PAYMENTS_VARIABLES,
    ...OPERATOR_VARIABLES,
    ...SECOND_FACTOR_VARIABLES,
    ...TRUSTED_PROXY_VARIABLES,
    ...TARGET_VARIABLES,
    ...PROMPT_LOG_VARIABLES,
    MAX_BATCH_MIB: z.coerce.number().int().min(64).max(16_777_216).default(20_480),
    TERMS_FILE: z.string().min(1).optional(),
    LOG_LEVEL: z.string().default("info"),
  },
  process.env,
);
const providers = providerConfigs(environment);
const counted = createCountedLog({ process: "dashboard", level: environment.LOG_LEVEL });
const lifecycle = createLifecycle(counted.log);
exitOnSignals(lifecycle);
trustExtraRoots(process.env, (sentence) => counted.log.warn(sentence));

await startDashboard(
  {
    databaseUrl: databaseUrl(environment),
    reportsUrl:
      environment.DATABASE_REPORTS_URL && databaseUrl({ ...environment, DATABASE_URL: environment.DATABASE_REPORTS_URL }),
    pepper: Buffer.from(environment.KEY_PEPPER, "base64"),
    publicBaseUrl: environment.PUBLIC_BASE_URL.replace(/\/+$/, ""),
    listen: { host: environment.DASHBOARD_HOST, port: environment.DASHBOARD_PORT },
    tlsDirectory: environment.DASHBOARD_TLS_DIRECTORY,
    admin: { host: environment.ADMIN_HOST, port: environment.ADMIN_PORT },
    adminSecondFactor: environment.ADMIN_SECOND_FACTOR,
    signUp: signUpRules(environment),
    mail: mailConfig(environment),
    termsFile: environment.TERMS_FILE,
    providers,
    providerDomains: providerDomains(environment, providers),
    payments: paymentsConfig(environment),
    operator: operatorConfig(environment),
    trustedProxies: orExit(() => trustedProxies(environment)),
    targetNetworks: environment.WEBHOOK_NETWORKS,
    maxBatchBytes: environment.MAX_BATCH_MIB * 1024 * 1024,
    maxPromptLogBytes: environment.MAX_PROMPT_LOG_MIB * 1024 * 1024,
  },
  { ...counted, lifecycle },
);
