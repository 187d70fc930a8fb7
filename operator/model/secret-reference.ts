import * as z from "zod";
import { must } from "./field-message.ts";

export const secretName = z
  .string(must("be the name of a Secret"))
  .regex(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
    "must be the name of a Secret: lower-case letters, digits, - and .",
  )
  .max(253, "must be at most 253 characters")
  .describe("Name of the Secret.");

const KEY = "must be a key of the Secret: letters, digits, -, _ and .";
/** Kubernetes does not allow a key that is one dot or begins with two. */
const KEY_FORM = /^\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*$/;
/** A rotated key of an ApiKey is stored next to its value, under the same name with `-previous`. */
const LONGEST_KEY = 253 - "-previous".length;

const key = z
  .string(must("be a key of the Secret"))
  .regex(KEY_FORM, KEY)
  .max(LONGEST_KEY, `must be at most ${LONGEST_KEY} characters`);

interface Defaults {
  /** The default key. */
  key: string;
  /** For anything but a reference. */
  otherwise?: ReturnType<typeof must>;
}

/** One value in a Secret of the same namespace. */
export function secretReference({ key: defaultKey, otherwise = must("name a Secret") }: Defaults) {
  return z.strictObject({ name: secretName, key: key.default(defaultKey).describe(`Key within the Secret.`) }, otherwise);
}
