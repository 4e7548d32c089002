// Makes the TLS context of the updater's connections, once for each list of certificate authorities.
import { createSecureContext, type SecureContext } from 'node:tls';
import { authorities } from '../../system/ca-certificates.ts';

let cached: { list: string; context: SecureContext } | undefined;

/**
 * A context that trusts the authorities of this machine. Separate contexts for the connections would take 0.7 MB each,
 * which OpenSSL's allocator does not return; a new one is made when the machine's list changes.
 * @param env SSL_CERT_FILE names another list
 */
export function tlsContext(env: NodeJS.ProcessEnv): SecureContext {
  const ca = authorities(env);
  const list = ca.join('\n');
  if (cached?.list !== list) cached = { list, context: createSecureContext({ ca }) };
  return cached.context;
}
