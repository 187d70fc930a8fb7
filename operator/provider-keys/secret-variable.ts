import * as z from "zod";
import { boxKey, type BoxKey } from "../../runtime/sealed-box.ts";

const SECRET_BYTES = 32;
const MUST = "must be 32 random bytes in base64; several are separated by commas, the newest first";

/** Private keys by a comma. */
export const providerKeysSecretVariable = z.string().transform((text, context): BoxKey[] => {
  const words = text.split(",").map((word) => word.trim());
  const secrets = words.map((word) => (z.base64().safeParse(word).success ? Buffer.from(word, "base64") : Buffer.alloc(0)));
  if (secrets.every((secret) => secret.length === SECRET_BYTES)) return secrets.map(boxKey);
  context.addIssue({ code: "custom", message: MUST });
  return z.NEVER;
});
