import * as z from "zod";
import { addressLines, MAX_ADDRESS_LINES } from "../billing/address.ts";

/** The operator of the service: the seller on receipts and statements, and the contact for customers. */
export interface Operator {
  /** If absent, documents name the service's host. */
  seller?: Seller | undefined;
  /** An email address or an https address. */
  support?: string | undefined;
}

export interface Seller {
  name: string;
  addressLines: readonly string[];
  taxId: string | undefined;
}

/** Variables of the process. */
export const OPERATOR_VARIABLES = {
  SELLER_NAME: z.string().trim().min(1).max(120).optional(),
  /** Container settings rarely allow line breaks, so `\n` counts as one, too. */
  SELLER_ADDRESS: z
    .string()
    .transform((text) => addressLines(text.replaceAll("\\n", "\n")))
    .refine((lines) => lines.length <= MAX_ADDRESS_LINES, `must have at most ${MAX_ADDRESS_LINES} lines`)
    .optional(),
  SELLER_TAX_ID: z.string().trim().max(40).optional(),
  SUPPORT_CONTACT: z
    .union([z.literal(""), z.email(), z.url({ protocol: /^https$/ })], "must be an email address or an https address")
    .optional(),
};

/** @throws Error for an address or a tax ID without a name. */
export function operatorConfig(environment: {
  SELLER_NAME?: string | undefined;
  SELLER_ADDRESS?: string[] | undefined;
  SELLER_TAX_ID?: string | undefined;
  SUPPORT_CONTACT?: string | undefined;
}): Operator {
  const { SELLER_NAME: name, SELLER_ADDRESS: lines = [], SELLER_TAX_ID, SUPPORT_CONTACT: support } = environment;
  const taxId = SELLER_TAX_ID === "" ? undefined : SELLER_TAX_ID;
  if (name === undefined && (lines.length > 0 || taxId !== undefined))
    throw new Error("SELLER_ADDRESS and SELLER_TAX_ID need SELLER_NAME.");
  return {
    seller: name === undefined ? undefined : { name, addressLines: lines, taxId },
    support: support === "" ? undefined : support,
  };
}
