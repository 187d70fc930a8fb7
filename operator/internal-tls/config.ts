import * as z from "zod";

/** Certificates from the release's own authority, which this operator renews. */
export interface InternalTlsConfig {
  /** Secret with the authorities. */
  authoritySecret: string;
  certificates: readonly InternalCertificate[];
  lifetimeMs: number;
  /** How long before its expiry a certificate is renewed. */
  renewBeforeMs: number;
}

export interface InternalCertificate {
  use: "client" | "server";
  /** Secret with ca.crt, tls.crt and tls.key. */
  secret: string;
  /** Name that the certificate is issued for. */
  host: string;
}

const entrySchema = z.tuple([z.enum(["client", "server"]), z.string().min(1), z.string().min(1)]);

/** `use:secret:host`, separated by commas. */
export const internalCertificatesVariable = z.string().transform((text, context): InternalCertificate[] => {
  const entries = text.split(",").map((entry) => entrySchema.safeParse(entry.split(":")));
  return entries.flatMap(({ data }) => {
    if (data !== undefined) return [{ use: data[0], secret: data[1], host: data[2] }];
    context.addIssue({
      code: "custom",
      message: "must be use:secret:host entries, such as client:gateway-tls:gateway.models.svc, separated by commas",
    });
    return [];
  });
});
