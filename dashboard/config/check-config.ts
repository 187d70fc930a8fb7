import { isLoopback } from "../../contract/loopback.ts";
import type { DashboardConfig } from "./dashboard-config.ts";

/** @throws Error for settings that are valid alone but inconsistent together, with the remedy. */
export function checkConfig({
  publicBaseUrl,
  signUp,
  mail,
  providers,
  adminSecondFactor,
}: Pick<DashboardConfig, "publicBaseUrl" | "signUp" | "mail" | "providers" | "adminSecondFactor">): void {
  if (mail.kind === "outbox" && !isLoopback(new URL(publicBaseUrl)))
    throw new Error(
      "MAIL=outbox shows every email, including password-reset links, to anyone who opens the dashboard, so PUBLIC_BASE_URL must be on this machine. Set MAIL=smtp or MAIL=none.",
    );
  if (adminSecondFactor === "optional" && !isLoopback(new URL(publicBaseUrl)))
    throw new Error(
      "ADMIN_SECOND_FACTOR=optional lets anyone who learns an administrator's password grant credit, so PUBLIC_BASE_URL must be on this machine. Remove it.",
    );
  if (signUp.domains !== null && mail.kind === "none" && providers.length === 0)
    throw new Error(
      "SIGN_UP_DOMAINS needs MAIL=smtp or a sign-in provider such as OIDC_ISSUER: without either, email addresses cannot be verified.",
    );
}
