// The environment of an npm that fetches from the registry.
import { existsSync } from 'node:fs';

const BUNDLE = '/etc/ssl/certs/ca-certificates.crt';

/**
 * The tests' environment, with the certificates that this machine trusts: Node has its own list, and an organization's network
 * may inspect what the registry sends. The runner takes the machine's own setting away.
 */
export const npmEnvironment: NodeJS.ProcessEnv = {
  ...process.env,
  ...(existsSync(BUNDLE) ? { NODE_EXTRA_CA_CERTS: BUNDLE } : {}),
};
