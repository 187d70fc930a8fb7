import { createTransport } from "nodemailer";
import type { Mailer } from "./mailer.ts";

const PATIENCE_MS = 15_000;

/** @param config.url `smtp://` (upgraded to TLS where the server offers it) or `smtps://`, with user and password. */
export function createSmtpMailer({ url, from }: { url: string; from: string }): Mailer {
  const transport = createTransport(url, {
    from,
    // What somebody typed into a form is text, and never the name of a file or an address to fetch.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ to, subject, text }) {
      const timedOut = AbortSignal.timeout(PATIENCE_MS);
      const { promise: late, reject } = Promise.withResolvers<never>();
      timedOut.addEventListener("abort", () => reject(new Error("The mail server did not answer in time.")));
      await Promise.race([transport.sendMail({ to: { name: "", address: to }, subject: oneLine(subject), text }), late]);
    },
    outbox: null,
  };
}

/** A name may hold anything; a header is one line. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
}
