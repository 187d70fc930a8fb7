import { experimental, type ServerCredentials } from "@grpc/grpc-js";
import type { TlsFiles, TlsIdentity } from "./tls-files.ts";

type Provider = experimental.CertificateProvider;

/** Credentials of a gRPC server that accepts only clients with a certificate of its authority. Renewals take effect at once. */
export function mutualTlsCredentials(files: TlsFiles): ServerCredentials {
  const authorities = new Set<Parameters<Provider["addCaCertificateListener"]>[0]>();
  const identities = new Set<Parameters<Provider["addIdentityCertificateListener"]>[0]>();
  const authorityOf = ({ ca }: TlsIdentity) => ({ caCertificate: ca });
  const identityOf = ({ certificate, key }: TlsIdentity) => ({ certificate, privateKey: key });
  files.onChange((identity) => {
    for (const listener of authorities) listener(authorityOf(identity));
    for (const listener of identities) listener(identityOf(identity));
  });
  const provider: Provider = {
    addCaCertificateListener(listener) {
      authorities.add(listener);
      process.nextTick(listener, authorityOf(files.current()));
    },
    removeCaCertificateListener: (listener) => void authorities.delete(listener),
    addIdentityCertificateListener(listener) {
      identities.add(listener);
      process.nextTick(listener, identityOf(files.current()));
    },
    removeIdentityCertificateListener: (listener) => void identities.delete(listener),
  };
  return experimental.createCertificateProviderServerCredentials(provider, provider, true);
}
