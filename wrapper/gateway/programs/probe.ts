// Asks what listens at the port of a gateway whether it accepts a placeholder. Nothing reaches the provider.
import { request } from 'node:http';
import type { HttpProvider } from '../../catalog/provider.ts';
import { ACCEPTED } from '../admit.ts';
import { keyValue } from '../key-places.ts';

/** systemd may have to start the gateway first. */
const ANSWER_MS = 10_000;
const MOST_BYTES = 1_024;

/** Reports whether a gateway of this user accepts a placeholder. */
export function accepts(port: number, placeholder: string, http: HttpProvider): Promise<boolean> {
  return new Promise(resolve => {
    const headers = { [http.key_header]: keyValue(http, placeholder) };
    const signal = AbortSignal.timeout(ANSWER_MS);
    const options = { host: '127.0.0.1', port, method: 'OPTIONS', path: '*', headers, agent: false, signal } as const;
    const asked = request(options, answer => {
      let text = '';
      answer.setEncoding('utf8').on('data', part => {
        text += part;
        if (text.length > MOST_BYTES) asked.destroy();
      });
      answer.on('error', () => resolve(false));
      answer.once('close', () => resolve(answer.statusCode === ACCEPTED.status && text.includes(ACCEPTED.message)));
    });
    asked.on('error', () => resolve(false)).end();
  });
}
