import { createTransport } from "nodemailer";
import { isLoopback } from "../../contract/loopback.ts";
import { inTime } from "../../runtime/wait.ts";
import type { Mailer } from "./letter.ts";

const PATIENCE_MS = 15_000;

/**
 * @param config.url `smtps://`, or `smtp://`, which is upgraded to TLS if the server offers it; with user and password. Options
 * of nodemailer may follow as a query: `?requireTLS=false` for your own server without TLS.
 */
export function createSmtpMailer({ url, from }: { url: string; from: string }): Mailer {
  const transport = createTransport(requiringTls(url), {
    from,
    // Form input is text, never the name of a file or an address to fetch.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ to, subject, text }) {
      const sent = transport.sendMail({ to: { name: "", address: to }, subject: oneLine(subject), text });
      await inTime(sent, PATIENCE_MS, () => new Error("The mail server did not answer in time."));
    },
    outbox: null,
  };
}

/** An attacker in between could hide that the server offers TLS, and so read the password. */
export function requiringTls(address: string): string {
  const url = new URL(address);
  if (url.protocol === "smtp:" && url.username !== "" && !isLoopback(url) && !url.searchParams.has("requireTLS"))
    url.searchParams.set("requireTLS", "true");
  return url.href;
}

/** A name may contain anything; a header is one line. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
}
