// `culvert token`: the bearer token for requests from other machines, created when it is missing.
import { readToken } from '../../../http/token.ts';
import { type Run, show } from '../../context.ts';

export const token: Run = async context => {
  show(context, { ok: true, token: await readToken(context.paths.token, { create: true }) }, answer => answer.token);
  return 0;
};
