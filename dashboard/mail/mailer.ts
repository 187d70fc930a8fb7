import * as z from "zod";
import type { Mailer } from "./letter.ts";
import { createOutbox } from "./outbox.ts";

/** How mail is sent, as configured. */
export type MailConfig = { kind: "none" } | { kind: "outbox" } | { kind: "smtp"; url: string; from: string };

/** Variables of the process. */
export const MAIL_VARIABLES = {
  MAIL: z.enum(["none", "smtp", "outbox"]).default("none"),
  SMTP_URL: z.url({ protocol: /^smtps?$/, error: "must look like smtp://user:password@mail.example:587" }).optional(),
  MAIL_FROM: z.string().min(3).optional(),
};

/** @throws Error if SMTP is configured without a server or a sender. */
export function mailConfig(environment: {
  MAIL: "none" | "smtp" | "outbox";
  SMTP_URL?: string | undefined;
  MAIL_FROM?: string | undefined;
}): MailConfig {
  const { MAIL: kind, SMTP_URL: url, MAIL_FROM: from } = environment;
  if (kind !== "smtp") return { kind };
  if (url === undefined || from === undefined) throw new Error("MAIL=smtp needs SMTP_URL and MAIL_FROM.");
  return { kind, url, from };
}

/** @returns undefined if no mail can be sent: then pages that need it say whom to ask instead. */
export async function createMailer(config: MailConfig): Promise<Mailer | undefined> {
  switch (config.kind) {
    case "none":
      return undefined;
    case "outbox":
      return createOutbox();
    case "smtp": {
      // Its library is loaded by those that send mail.
      const { createSmtpMailer } = await import("./smtp.ts");
      return createSmtpMailer(config);
    }
  }
}
