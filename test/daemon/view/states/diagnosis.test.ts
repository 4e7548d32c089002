// A finding of the checks never takes the place of a cause that the tunnel client itself named, unless it is about that.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'smol-toml';
import type { Diagnosis } from '../../../../daemon/api/doctor.ts';
import { CHECKS } from '../../../../daemon/doctor/checks/all.ts';
import { causeOf, causeTitle } from '../../../../daemon/view/states/causes.ts';
import { canBeCause, explainedCause } from '../../../../daemon/view/states/findings.ts';
import { describeTunnel } from '../../../../daemon/view/states/tunnel.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

const list = parse(readFileSync(new URL('../../../../data/knowledge/codes.toml', import.meta.url), 'utf8'));
const entries = list.code as unknown as { code: string; also: string[]; kind: string }[];
const reasons = entries
  .filter(({ kind }) => kind === 'error' || kind === 'reason')
  .flatMap(({ code, also }) => [code, ...also])
  .concat('Frobnicated');

/** The titles of the reasons that a check is about. */
const ABOUT: Record<string, RegExp> = {
  'captive-portal': /wants you to sign in|connection test failed|carries no traffic/,
  'dns-port-53': /uses the DNS port/,
  'dns-resolv-conf': /DNS does not work|DNS settings can’t be read/,
  'dns-search': /DNS does not work|DNS settings can’t be read/,
  'dns-provider-resolvers': /DNS does not work/,
  'no-traffic': /carries no traffic/,
  'mdm-file': /management file/,
  'registration-stuck': /not set up|Signing in took/,
  service: /service is not running|program failed/,
  'service-journal': /accepted, but did not connect/,
  'session-expiry': /Signing in took/,
  clock: /Signing in took/,
  'proxy-dead': /proxy’s port/,
  reachability: /No Cloudflare server|inspects or blocks WARP/,
};

function shown(reason: string, id: string) {
  const client = clientState({ status: { state: 'unable', reason: { code: reason, text: '' } } });
  const alone = causeOf(client.snapshot!, tr)!;
  const diagnosis: Diagnosis = {
    id,
    title: 'Title',
    evidence: ['seen'],
    explanation: 'Because.',
    fix: null,
    fixId: null,
    source: null,
    at: '2026-01-01T10:00:00.000Z',
  };
  client.snapshot!.diagnosis = diagnosis;
  return { alone, cause: explainedCause(client.snapshot!, tr)!, view: describeTunnel(client, tr) };
}

for (const { id } of CHECKS)
  test(`the finding of ${id} leaves each cause that it is not about its sentence and button`, () => {
    for (const reason of reasons) {
      const { alone, cause, view } = shown(reason, id);
      assert.equal(cause.title, alone.title);
      assert.deepEqual([view.label, view.sentence, view.remedy], [cause.title, cause.sentence, cause.remedy]);
      const isAbout = causeTitle(reason, tr) !== null ? (ABOUT[id]?.test(alone.title) ?? false) : canBeCause(id);
      if (isAbout) assert.equal(cause.sentence, 'Because.', reason);
      else {
        assert.equal(cause.sentence, `${alone.sentence}\nAlso: Because.`, reason);
        if (alone.remedy) assert.deepEqual(cause.remedy, alone.remedy, reason);
      }
    }
  });

test('known bugs, the package repository and the resources of the service are never the cause', () => {
  for (const id of ['known-issues', 'package-repository', 'service-resources', 'tray'])
    assert.equal(canBeCause(id), false);
  for (const { id, cheap } of CHECKS) if (cheap) assert.equal(canBeCause(id), true, id);
});
