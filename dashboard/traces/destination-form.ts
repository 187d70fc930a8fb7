import * as z from "zod";
import { isPrintable, isVisible } from "../../contract/printable.ts";
import { headerLines, langfuseCredentials } from "./headers.ts";

const MAX_KEY = 500;

export const destinationName = z
  .string("Enter a name.")
  .trim()
  .refine(isVisible, "Enter a name.")
  .max(64, "A name can have at most 64 characters.")
  .refine(isPrintable, "A name must be one line without control characters.");

function langfuseKey(which: "public" | "secret") {
  const sentence = `Enter the ${which} key of your Langfuse project.`;
  return z
    .string(sentence)
    .trim()
    .min(1, sentence)
    .max(MAX_KEY, `A key can have at most ${MAX_KEY} characters.`)
    .regex(/^[\x21-\x39\x3b-\x7e]*$/, "A key contains only letters, digits and punctuation, and no spaces or colons.");
}
export const publicKey = langfuseKey("public");
export const secretKey = langfuseKey("secret");

const url = z.string().default("");
/** A check box. */
const includeContent = z
  .string()
  .default("")
  .transform((value) => value !== "");

/** Throws a ZodError with a sentence for each invalid field. */
export const otlpForm = z
  .object({ name: destinationName, url, secret_headers: headerLines.default([]), include_content: includeContent })
  .transform(({ secret_headers: headers, include_content: includesContent, ...rest }) => ({
    ...rest,
    kind: "otlp" as const,
    headers,
    includesContent,
  }));

/** The same for an existing destination, whose headers stay unless others are entered. */
export const otlpChangeForm = z
  .object({ name: destinationName, url, secret_headers: headerLines.default([]), include_content: includeContent })
  .transform(({ secret_headers: headers, include_content: includesContent, ...rest }) => ({
    ...rest,
    headers: headers.length === 0 ? undefined : headers,
    includesContent,
  }));

export const langfuseForm = z
  .object({ name: destinationName, url, public_key: publicKey, secret_key: secretKey, include_content: includeContent })
  .transform(({ public_key, secret_key, include_content: includesContent, ...rest }) => ({
    ...rest,
    kind: "langfuse" as const,
    headers: langfuseCredentials({ publicKey: public_key, secretKey: secret_key }),
    includesContent,
  }));

/** The same for an existing destination, whose keys stay unless both are entered. */
export const langfuseChangeForm = z
  .object({
    name: destinationName,
    url,
    public_key: z.string().default(""),
    secret_key: z.string().default(""),
    include_content: includeContent,
  })
  .transform(({ public_key, secret_key, include_content: includesContent, ...named }, context) => {
    const rest = { ...named, includesContent };
    if (public_key === "" && secret_key === "") return { ...rest, headers: undefined };
    const keys = z.object({ public_key: publicKey, secret_key: secretKey }).safeParse({ public_key, secret_key });
    if (!keys.success) {
      for (const { message, path } of keys.error.issues) context.addIssue({ code: "custom", message, path });
      return z.NEVER;
    }
    return { ...rest, headers: langfuseCredentials({ publicKey: public_key, secretKey: secret_key }) };
  });
