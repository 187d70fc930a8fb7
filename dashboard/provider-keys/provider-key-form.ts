import * as z from "zod";
import { PROVIDER_KEY_LENGTH, PROVIDER_NAME, PROVIDER_NAME_LENGTH } from "../../contract/provider-key.ts";

const NO_PROVIDER = "Choose a provider from the list.";
const { min, max } = PROVIDER_KEY_LENGTH;
const LENGTH = `A provider's key has ${min} to ${max} characters.`;

export const providerName = z.string(NO_PROVIDER).max(PROVIDER_NAME_LENGTH, NO_PROVIDER).regex(PROVIDER_NAME, NO_PROVIDER);

/** Scheme, host and port of a server. */
export const providerOrigin = z
  .string(NO_PROVIDER)
  .max(300, NO_PROVIDER)
  .regex(/^https?:\/\/[\w.:[\]-]+$/, NO_PROVIDER);

/** The value of a key. None of the messages repeats it. */
export const providerSecret = z
  .string("Enter the key.")
  .trim()
  .min(1, "Enter the key.")
  .min(min, LENGTH)
  .max(max, LENGTH)
  .regex(
    /^[\x21-\x7e]*$/,
    "A key contains only letters, digits and punctuation, and no spaces. Copy it from the provider again.",
  );

/** How the form names a provider and its server in one field. */
export function destinationText({ provider, origin }: { provider: string; origin: string }): string {
  return `${provider} ${origin}`;
}

/** Throws a ZodError with a sentence for each invalid field. */
export const providerKeyForm = z.object({
  provider: z
    .string(NO_PROVIDER)
    .transform((text) => {
      const [provider = "", origin = ""] = text.split(" ");
      return { provider, origin };
    })
    .pipe(z.object({ provider: providerName, origin: providerOrigin })),
  secret: providerSecret,
});
