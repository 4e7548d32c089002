// Asks the programs that give credentials once in a run, because one of them may mint a new value each time.
import type { Context, Credentials } from '../../context.ts';
import type { Plan } from '../../store/plan.ts';
import { type Resolved, resolveAccount, startsProgram } from '../../store/secrets.ts';
import { callerEnvironment } from './environment.ts';

/** Most runs of a credential program in one run: the second shows whether its value rotates. */
const MOST_READINGS = 2;

/** Opens the credentials of one run. */
export function openCredentials(
  { secretTimeoutMs }: Pick<Plan, 'secretTimeoutMs'>,
  { env }: Pick<Context, 'env'>,
): Credentials {
  const caller = callerEnvironment(env);
  const readings = new Map<string, { count: number; isOld: boolean; value: Promise<Resolved> }>();
  const credentials: Credentials = {
    of: account => {
      const reading = readings.get(account.name);
      return reading && !reading.isOld ? reading.value : credentials.again(account);
    },
    again: account => {
      const reading = readings.get(account.name);
      if (reading && reading.count >= MOST_READINGS) return reading.value;
      const value = resolveAccount(account, caller, secretTimeoutMs);
      if (startsProgram(account)) readings.set(account.name, { count: (reading?.count ?? 0) + 1, isOld: false, value });
      return value;
    },
    forget: () => {
      for (const reading of readings.values()) reading.isOld = true;
    },
  };
  return credentials;
}
