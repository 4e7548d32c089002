// Collects the certificate authorities that our own connections trust: Node's, and those that the machine's owner
// added.
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';

/** Locations of the bundle: Debian, Arch and Alpine; Fedora; openSUSE. */
export const BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
] as const;

/**
 * Node brings Mozilla's list and reads no other. A network that inspects TLS (Cloudflare's Gateway does, behind this very
 * client) has its own authority in the system's list, so that list counts too. Updates are signed anyway.
 * @param env SSL_CERT_FILE names another bundle, as for OpenSSL's own programs.
 */
export function authorities(env: NodeJS.ProcessEnv): string[] {
  const files = env.SSL_CERT_FILE ? [env.SSL_CERT_FILE] : BUNDLES;
  for (const file of files) {
    try {
      return [...rootCertificates, readFileSync(file, 'utf8')];
    } catch {
      // another distribution
    }
  }
  return [...rootCertificates];
}
