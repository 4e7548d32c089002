// Says with which variables a program uses a gateway.
import type { HttpProvider } from '../../catalog/provider.ts';
import type { Plan } from '../../store/plan.ts';
import { PLACEHOLDER_ID } from '../../store/tokens.ts';

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

/** An environment without a gateway's address and placeholder, which the user has not chosen: a program around this one has set them. */
export function withoutGateway(
  { provider: { http } }: Pick<Plan, 'provider'>,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  if (!http?.base_variable) return env;
  const { [http.base_variable]: base, [http.key_variable]: key, ...others } = env;
  const id = key?.startsWith(http.key_prefix) ? key.slice(http.key_prefix.length) : '';
  return base?.startsWith('http://127.0.0.1:') && PLACEHOLDER_ID.test(id) ? others : env;
}

/** Programs send requests for this machine to a proxy as well, unless it is named here. */
function directly(value = ''): string {
  return [...new Set([...value.split(',').filter(name => name !== ''), '127.0.0.1', 'localhost'])].join(',');
}
