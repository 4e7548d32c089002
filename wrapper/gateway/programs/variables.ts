// Says with which variables a program uses a gateway.
import type { HttpProvider } from '../../catalog/provider.ts';

/**
 * Variables for a program: the address, and the placeholder in place of a key.
 * @param caller the environment that they are laid over
 */
export function variablesFor(
  { base_variable, base_path, key_variable }: Pick<HttpProvider, 'base_variable' | 'base_path' | 'key_variable'>,
  { url, placeholder }: { url: string; placeholder: string },
  caller: NodeJS.ProcessEnv,
): Record<string, string> {
  const direct = directly(caller.NO_PROXY ?? caller.no_proxy);
  const env: Record<string, string> = { [key_variable]: placeholder, NO_PROXY: direct, no_proxy: direct };
  if (base_variable) env[base_variable] = `${url}${base_path}`;
  return env;
}

/** Programs send requests for this machine to a proxy as well, unless it is named here. */
function directly(value = ''): string {
  return [...new Set([...value.split(',').filter(name => name !== ''), '127.0.0.1', 'localhost'])].join(',');
}
