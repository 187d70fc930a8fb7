import type { FastifyInstance } from "fastify";
import type { AppDeps } from "./app-deps.ts";
import type { Payments } from "./payments/payments.ts";
import { adminRoutes } from "./routes/admin/admin.ts";
import { billingRoutes } from "./routes/billing/billing.ts";
import { billingDocumentRoutes } from "./routes/billing/documents.ts";
import { budgetRoutes } from "./routes/budgets/budgets.ts";
import { autoTopUpRoutes } from "./routes/credit/auto-top-up.ts";
import { creditRoutes } from "./routes/credit/credit.ts";
import { testCardRoutes } from "./routes/credit/test-card.ts";
import { testPayRoutes } from "./routes/credit/test-pay.ts";
import { topUpRoutes } from "./routes/credit/top-up.ts";
import { receiptRoutes } from "./routes/credit/receipt.ts";
import { webhookRoutes } from "./routes/credit/webhook.ts";
import { confirmEmailRoutes } from "./routes/people/confirm-email.ts";
import { confirmIdentityRoutes } from "./routes/people/confirm-identity.ts";
import { forgotRoutes } from "./routes/people/forgot.ts";
import { invitationRoutes } from "./routes/people/invitation.ts";
import { limitRoutes } from "./routes/limits/limits.ts";
import { docsRoutes } from "./routes/docs.ts";
import { installRoutes } from "./routes/install.ts";
import { keyRoutes } from "./routes/keys/keys.ts";
import { memberRoutes } from "./routes/people/members.ts";
import { modelRoutes } from "./routes/models.ts";
import { outboxRoutes } from "./routes/people/outbox.ts";
import { overviewRoutes } from "./routes/overview.ts";
import { passkeyRoutes } from "./routes/people/passkeys.ts";
import { playgroundRoutes } from "./routes/playground.ts";
import { providerRoutes } from "./routes/people/providers.ts";
import { publicRoutes } from "./routes/public.ts";
import { performanceRoutes } from "./routes/usage/performance.ts";
import { requestRoutes } from "./routes/usage/requests.ts";
import { secondFactorRuleRoutes } from "./routes/people/second-factor-rule.ts";
import { secondFactorRoutes } from "./routes/people/second-factor.ts";
import { settingsRoutes } from "./routes/people/settings.ts";
import { signInPasskeyRoutes } from "./routes/people/sign-in-passkey.ts";
import { signInRoutes } from "./routes/people/sign-in.ts";
import { signUpRoutes } from "./routes/people/sign-up.ts";
import { tokenRoutes } from "./routes/keys/tokens.ts";
import { usageFileRoutes } from "./routes/usage/files.ts";
import { usageRoutes } from "./routes/usage/usage.ts";

export function registerRoutes(app: FastifyInstance, deps: AppDeps): void {
  signInRoutes(app, deps);
  signUpRoutes(app, deps);
  publicRoutes(app, deps);
  playgroundRoutes(app, deps);
  settingsRoutes(app, deps);
  secondFactorRoutes(app, deps);
  confirmIdentityRoutes(app, deps);
  memberRoutes(app, deps);
  secondFactorRuleRoutes(app, deps);
  invitationRoutes(app, deps);
  if (deps.passkeys !== undefined) {
    passkeyRoutes(app, deps, deps.passkeys);
    signInPasskeyRoutes(app, deps, deps.passkeys);
  }
  for (const provider of deps.providers ?? []) providerRoutes(app, deps, provider);
  if (deps.mailer !== undefined) forgotRoutes(app, deps, deps.mailer);
  if (deps.mailer !== undefined) confirmEmailRoutes(app, deps, deps.mailer);
  if (deps.mailer?.outbox) outboxRoutes(app, deps, deps.mailer.outbox);
  overviewRoutes(app, deps);
  keyRoutes(app, deps);
  limitRoutes(app, deps);
  budgetRoutes(app, deps);
  usageRoutes(app, deps);
  performanceRoutes(app, deps);
  requestRoutes(app, deps);
  usageFileRoutes(app, deps);
  creditRoutes(app, deps);
  receiptRoutes(app, deps);
  billingRoutes(app, deps);
  billingDocumentRoutes(app, deps);
  modelRoutes(app, deps);
  docsRoutes(app, deps);
  tokenRoutes(app, deps);
  adminRoutes(app, deps);
  installRoutes(app, deps);
  if (deps.payments !== undefined) paymentRoutes(app, deps, deps.payments);
}

function paymentRoutes(app: FastifyInstance, deps: AppDeps, payments: Payments): void {
  topUpRoutes(app, deps, payments);
  autoTopUpRoutes(app, deps, payments);
  webhookRoutes(app, deps, payments);
  if (payments.name !== "test") return;
  testPayRoutes(app, deps, payments);
  testCardRoutes(app, payments);
}
