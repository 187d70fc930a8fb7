import type { FastifyInstance } from "fastify";
import type { AppDeps } from "./app.ts";
import type { Payments } from "./payments/payments.ts";
import { adminRoutes } from "./routes/admin.ts";
import { creditRoutes } from "./routes/credit.ts";
import { testPayRoutes } from "./routes/credit-test-pay.ts";
import { topUpRoutes } from "./routes/credit-top-up.ts";
import { webhookRoutes } from "./routes/credit-webhook.ts";
import { forgotRoutes } from "./routes/forgot.ts";
import { invitationRoutes } from "./routes/invitation.ts";
import { installRoutes } from "./routes/install.ts";
import { keyRoutes } from "./routes/keys.ts";
import { memberRoutes } from "./routes/members.ts";
import { modelRoutes } from "./routes/models.ts";
import { oidcRoutes } from "./routes/oidc.ts";
import { outboxRoutes } from "./routes/outbox.ts";
import { overviewRoutes } from "./routes/overview.ts";
import { playgroundRoutes } from "./routes/playground.ts";
import { publicRoutes } from "./routes/public.ts";
import { requestRoutes } from "./routes/requests.ts";
import { settingsRoutes } from "./routes/settings.ts";
import { signInRoutes } from "./routes/sign-in.ts";
import { signUpRoutes } from "./routes/sign-up.ts";
import { tokenRoutes } from "./routes/tokens.ts";
import { usageCsvRoutes } from "./routes/usage-csv.ts";
import { usageRoutes } from "./routes/usage.ts";

export function registerRoutes(app: FastifyInstance, deps: AppDeps): void {
  signInRoutes(app, deps);
  signUpRoutes(app, deps);
  publicRoutes(app, deps);
  playgroundRoutes(app, deps);
  settingsRoutes(app, deps);
  memberRoutes(app, deps);
  invitationRoutes(app, deps);
  if (deps.oidc !== undefined) oidcRoutes(app, deps, deps.oidc);
  if (deps.mailer !== undefined) forgotRoutes(app, deps, deps.mailer);
  if (deps.mailer?.outbox) outboxRoutes(app, deps.mailer.outbox);
  overviewRoutes(app, deps);
  keyRoutes(app, deps);
  usageRoutes(app, deps);
  requestRoutes(app, deps);
  usageCsvRoutes(app, deps);
  creditRoutes(app, deps);
  modelRoutes(app, deps);
  tokenRoutes(app, deps);
  adminRoutes(app, deps);
  installRoutes(app, deps);
  if (deps.payments !== undefined) paymentRoutes(app, deps, deps.payments);
}

function paymentRoutes(app: FastifyInstance, deps: AppDeps, payments: Payments): void {
  topUpRoutes(app, deps, payments);
  webhookRoutes(app, deps, payments);
  if (payments.name === "test") testPayRoutes(app, deps, payments);
}
