// Proofs of the check of the organization's certificate, with curl as the only tool of the machine.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { organizationCertificate } from '../../../../daemon/doctor/checks/organization.ts';
import { onlyPrograms, snapshot, world } from '../../../support/doctor/world.ts';
import type { Ends } from '../../../support/temporary.ts';
import { authority, MANAGED, machine, ROOTS } from '../../../support/trust/organization.ts';
import type { Case } from './cases.ts';

type Machine = ReturnType<typeof machine>;

const tunnel = snapshot({ account: { registered: true, type: 'team', organization: 'example', managed: true } });

/** A machine, and the world of the check after `prepare`. */
async function machineWorld(t: Ends, prepare: (pc: Machine) => unknown) {
  const pc = machine(t, onlyPrograms(t, { curl: 'PATH=/usr/bin:/bin; exec curl "$@"' }));
  await prepare(pc);
  return world(t, { env: pc.env, root: pc.root, owner: process.getuid!(), tunnel });
}

const one = (
  title: string,
  rest: Pick<Case, 'verdict' | 'shows'>,
  prepare: (t: Ends, pc: Machine) => unknown,
): Case => ({
  check: organizationCertificate,
  how: 'programs',
  title,
  ...rest,
  world: t => machineWorld(t, pc => prepare(t, pc)),
});

export const TRUST_CASES: Case[] = [
  one('no certificate', { verdict: 'not-applicable' }, () => {}),
  one('a list without it', { verdict: 'notice', shows: /curl does not trust.*culvert trust apply/s }, (t, pc) =>
    pc.install(authority(t)),
  ),
  one('a list that has it', { verdict: 'ok', shows: /: 2$/m }, (t, pc) => {
    const organization = authority(t);
    pc.install(organization);
    pc.write('/etc/ssl/certs/ca-certificates.crt', [...ROOTS, organization.pem].join('\n'));
  }),
  one('verification that is off', { verdict: 'problem', shows: /curl trusts too much.*Remove insecure/s }, (t, pc) => {
    pc.install(authority(t));
    writeFileSync(path.join(pc.home, '.curlrc'), 'insecure\n');
  }),
  one(
    'one that was withdrawn',
    { verdict: 'problem', shows: /changed for one: curl.*culvert trust undo/s },
    async (t, pc) => {
      pc.install(authority(t));
      await pc.trust().apply(['curl']);
      pc.withdraw();
    },
  ),
  one('a file that others can write', { verdict: 'problem', shows: /changed by others than root/ }, (t, pc) => {
    pc.install(authority(t));
    pc.open(MANAGED);
  }),
];
