import type { AppDeps } from "../../app-deps.ts";
import type { SignInView } from "../../views/people/sign-in.ts";

/** The ways to sign in that the page offers, whatever happened to the form. */
export async function signInView({
  signUp,
  mailer,
  providers = [],
  passkeys,
}: AppDeps): Promise<Omit<SignInView, "form" | "next" | "isSessionOver">> {
  return {
    isSignUpOpen: signUp.isOpen,
    canReset: mailer !== undefined,
    providers,
    challenge: (await passkeys?.ask(null)) ?? null,
  };
}
