import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";

/** Who may sign up without an invitation. */
export interface SignUpRules {
  isOpen: boolean;
  /** Only addresses of these domains, in lower case; null: any. */
  domains: readonly string[] | null;
}

/** Variables of the process. */
export const SIGN_UP_VARIABLES = {
  SIGN_UP: z.enum(["open", "closed"]).default("open"),
  SIGN_UP_DOMAINS: z
    .string()
    .regex(/^[\w.-]+(\s*,\s*[\w.-]+)*$/, "must be domains such as example.com,example.org")
    .transform((text) => text.toLowerCase().split(/\s*,\s*/))
    .optional(),
};

export function signUpRules(environment: { SIGN_UP: "open" | "closed"; SIGN_UP_DOMAINS?: string[] | undefined }): SignUpRules {
  return { isOpen: environment.SIGN_UP === "open", domains: environment.SIGN_UP_DOMAINS ?? null };
}

/** @throws GatewayError `not_found` if sign-up is closed. */
export function checkSignUpOpen({ isOpen }: SignUpRules): void {
  if (!isOpen) throw new GatewayError("not_found", "Sign-up is closed. Ask the operator of this service for an invitation.");
}

/** @throws GatewayError `invalid_request` for an address of another domain. */
export function checkSignUpAddress({ domains }: SignUpRules, email: string): void {
  if (domains === null) return;
  const domain = email.trim().toLowerCase().split("@").at(-1) ?? "";
  if (!domains.includes(domain))
    throw new GatewayError("invalid_request", `Sign-up is limited to email addresses at ${domains.join(", ")}.`, {
      field: "email",
    });
}
