// Collects the certificate authorities that our own connections trust: Node's list, and the authorities that
// the machine's owner added.
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';

/** Locations of the bundle: Debian, Arch and Alpine; Fedora; openSUSE. */
export const BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
] as const;

/**
 * Returns Node's list, which is Mozilla's, and the system's list: a network that inspects TLS (as Cloudflare's Gateway does
 * behind this client) has its authority there. Updates are signed anyway.
 * @param env SSL_CERT_FILE names another bundle, as for OpenSSL's own programs.
 */
export function authorities(env: NodeJS.ProcessEnv): string[] {
  const files = env.SSL_CERT_FILE ? [env.SSL_CERT_FILE] : BUNDLES;
  for (const file of files) {
    try {
      return [...rootCertificates, readFileSync(file, 'utf8')];
    } catch {
      // the bundle of another distribution
    }
  }
  return [...rootCertificates];
}
