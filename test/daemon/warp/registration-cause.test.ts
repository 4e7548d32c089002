// The one function that says why a device is not registered: a row for each cause, and which of two causes wins.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Snapshot } from '../../../daemon/api/schema.ts';
import { REGISTRATION_CAUSES } from '../../../daemon/api/tunnel.ts';
import { explain } from '../../../daemon/doctor/knowledge.ts';
import { wordMessage } from '../../../daemon/view/message.ts';
import { lostRegistration } from '../../../daemon/view/states/causes.ts';
import { generalWords, registrationStep, registrationWords } from '../../../daemon/view/states/registration.ts';
import { english } from '../../../daemon/view/translator.ts';
import { registrationProblem } from '../../../daemon/warp/cli/failures.ts';
import { judgePolicy, type Policy } from '../../../daemon/warp/parse/policy-file.ts';
import {
  chosenConfiguration,
  createRegistrationWatch,
  isOfAttempt,
  type JournalCause,
  NO_EVIDENCE,
  type RegistrationEvidence,
  registrationCause,
} from '../../../daemon/warp/registration.ts';
import { KNOWLEDGE } from '../../support/doctor/world.ts';

const text = (name: string, value: string) => `<key>${name}</key><string>${value}</string>`;
const policy = (xml: string, mode = 0o644): Policy =>
  judgePolicy({ path: '/mdm.xml', link: null, uid: 0, gid: 0, mode, isFile: true, text: xml });
const ORGANIZATION = policy(`<dict>${text('organization', 'acme')}</dict>`);
const TOKEN = policy(
  `<dict>${text('organization', 'acme')}${text('auth_client_id', 'a.access')}${text('auth_client_secret', 's')}</dict>`,
);
/** A list whose first configuration names no organization. */
const HARMLESS_FIRST = (second: string) =>
  policy(`<array><dict>${text('service_mode', 'warp')}</dict><dict>${second}</dict></array>`);
const LISTED = policy(`<dict><key>configs</key><array><dict>${text('organization', 'acme')}</dict></array></dict>`);
const HIDDEN = judgePolicy({ path: '/mdm.xml', link: null, uid: 0, gid: 0, mode: 0o600, isFile: true, text: null });
const UNSEEN: Policy = { ...HIDDEN, isUnseen: true };
const LINK = judgePolicy({ path: '/mdm.xml', link: '/etc/x', uid: 0, gid: 0, mode: 0o777, isFile: false, text: null });

const BLOCKED = { state: 'unable', blocked: 'not-registered', raw: null };
const reason = (words: string) => ({
  status: { blocked: 'not-registered' as const, reason: { code: 'RegistrationMissing', text: words }, raw: null },
});
const free = {
  status: { blocked: null, reason: null, raw: null },
  account: { registered: true, type: 'Free', organization: null, managed: false },
};
const member = { ...free, account: { registered: true, type: 'Team', organization: 'acme', managed: true } };
const unreachable = { code: 'api-unreachable' as const, line: 'API error', host: 'fed.cloudflareclient.com' };
const NOT_IN_API = reason('Registration Missing due to: Does not exist in API');

const CASES: [title: string, evidence: Partial<RegistrationEvidence>, code: string | undefined][] = [
  ['a device that was never registered', {}, undefined],
  ['a device that its user removed', reason('Registration Missing due to: Invalidated (Manual Deletion)'), undefined],
  ['a device that was removed', reason('Registration Missing due to: Revoked'), 'removed'],
  ['a device that the server does not know', NOT_IN_API, 'unknown-to-api'],
  ['a registration that changed', reason('Registration Missing due to: Invalidated'), 'changed'],
  ['an organization without a token', { policy: ORGANIZATION }, 'sign-in'],
  ['an organization that removed the device', { policy: ORGANIZATION, ...reason('Revoked') }, 'removed'],
  ['a token', { policy: TOKEN }, 'token-refused'],
  ['a token that the server did not accept', { policy: TOKEN, ...NOT_IN_API }, 'token-refused'],
  ['a token, and no way to the server', { policy: TOKEN, journal: unreachable }, 'api-unreachable'],
  [
    'an answer of the server, and an older line that says that it was out of reach',
    { ...reason('Revoked'), journal: unreachable },
    'removed',
  ],
  [
    'a harmless configuration before one with a token only',
    { policy: HARMLESS_FIRST(text('auth_client_id', 'a.access')) },
    'policy-token',
  ],
  [
    'a harmless configuration before one with a variable',
    { policy: HARMLESS_FIRST(text('organization', '$ORG')) },
    'policy-variables',
  ],
  [
    'an organization with a name that is too long',
    { policy: policy(`<dict>${text('organization', 'a'.repeat(64))}</dict>`) },
    'policy-organization',
  ],
  ['a link, and no way to the server', { policy: LINK, journal: unreachable }, 'policy-link'],
  ['a file that only root may read', { policy: HIDDEN }, 'policy-hidden'],
  [
    'a file that nobody may see, and a link in the journal',
    { policy: UNSEEN, journal: { code: 'policy-link', line: 'x' } },
    'policy-link',
  ],
  ...Object.entries({
    'a file': TOKEN,
    'a file that only root may read': HIDDEN,
  }).flatMap(([now, present]) =>
    (['policy-link', 'policy-owner'] as const).map((code): (typeof CASES)[number] => [
      `${now} by now, and ${code} in the journal`,
      { policy: present, journal: { code, line: 'x' } },
      'policy-restart',
    ]),
  ),
  ['no file by now, and a link in the journal', { journal: { code: 'policy-link', line: 'x' } }, undefined],
  [
    'an answer of the server, and a link in the journal before',
    { policy: TOKEN, ...NOT_IN_API, journal: { code: 'policy-link', line: 'x' } },
    'token-refused',
  ],
  ['such a file, and an answer of the server', { policy: HIDDEN, ...NOT_IN_API }, 'unknown-to-api'],
  ['a list that WARP may not see', { policy: LISTED }, 'policy-configs'],
  ['such a list, and an answer that proves that it did', { policy: LISTED, ...NOT_IN_API }, 'sign-in'],
  ['a failed attempt', { attempt: 'Error: Failed to communicate with the WARP API' }, 'api-unreachable'],
  ['an old registration', { attempt: 'Error: Old registration is still around.' }, 'old-registration'],
  ['an old client', { attempt: 'Error: Failed to contact the WARP API.', version: '2023.9.253' }, 'client-too-old'],
  [
    'the words of an old client from a new one',
    { attempt: 'Failed to contact the WARP API', version: '2026.1.1.1' },
    'api-unreachable',
  ],
  ['a private registration on a private computer', free, undefined],
  ['a private registration on a managed computer', { ...free, policy: ORGANIZATION }, 'consumer'],
  ['the same, because of a link', { ...free, policy: LINK }, 'policy-link'],
  ['the same with a file that only root may read', { ...free, policy: HIDDEN }, 'policy-hidden'],
  ['a member of the organization', { ...member, policy: ORGANIZATION }, undefined],
  [
    'a service that does not run',
    { status: { blocked: 'service-stopped', reason: null, raw: null }, policy: TOKEN },
    undefined,
  ],
];

for (const [title, evidence, code] of CASES)
  test(`${title}: ${code ?? 'no cause'}`, () => {
    assert.equal(registrationCause({ ...NO_EVIDENCE, ...evidence })?.code, code);
  });

test('the host to open is the one in the journal, else that of the organization and the version, else the public one', () => {
  const host = (evidence: Partial<RegistrationEvidence>) => registrationCause({ ...NO_EVIDENCE, ...evidence })?.host;
  const attempt = 'Failed to communicate with the WARP API';
  assert.deepEqual(
    [
      host({ journal: unreachable }),
      host({ attempt }),
      host({ attempt, policy: TOKEN, version: '2026.4.1350.0' }),
      host({ attempt, policy: TOKEN, version: '2026.8.2100.0' }),
      host({ policy: TOKEN }),
    ],
    [
      'fed.cloudflareclient.com',
      'api.cloudflareclient.com',
      'zero-trust-client.cloudflareclient.com',
      'api.devices.cloudflare.com',
      null,
    ],
  );
});

test('the journal’s line about the connection to the server counts for ten minutes, and the later of two reads wins', async () => {
  let time = 1_700_000_000_000;
  const waiting: ((cause: JournalCause | null) => void)[] = [];
  const watch = createRegistrationWatch({
    version: () => null,
    now: () => time,
    readJournal: () => new Promise(done => waiting.push(done)),
  });
  const code = () => watch.cause({ ...NO_EVIDENCE, settings: {} })?.code;
  const [early, late] = [watch.readJournal(), watch.readJournal()];
  waiting[1]!({ ...unreachable, at: time });
  assert.equal(await late, true);
  waiting[0]!(null);
  assert.equal(await early, false);
  assert.equal(code(), 'api-unreachable');
  time += 11 * 60_000;
  assert.equal(code(), undefined);
});

test('a cause that only the journal tells is not one of an attempt', () => {
  const of = (evidence: Partial<RegistrationEvidence>) =>
    isOfAttempt(registrationCause({ ...NO_EVIDENCE, ...evidence })!);
  const attempt = 'Failed to communicate with the WARP API';
  assert.deepEqual(
    [of({ journal: unreachable }), of({ attempt }), of({ attempt, journal: unreachable })],
    [false, true, true],
  );
});

test('uses the organization that WARP names, or else the first one', () => {
  const two = policy(
    `<array><dict>${text('organization', 'a') + text('display_name', 'First')}</dict><dict>${text('organization', '$B') + text('display_name', 'Second')}</dict></array>`,
  );
  const cause = (chosen: string | null) => registrationCause({ ...NO_EVIDENCE, policy: two, chosen })!;
  assert.deepEqual([cause(null).code, cause(null).organization], ['sign-in', 'a']);
  assert.equal(cause('Second').code, 'policy-variables');
  const listed = 'organizations of the management file: First, Second';
  for (const [chosen, said] of [
    [null, [listed]],
    ['Third', [listed]],
    ['Second', [listed, 'in use: Second']],
  ] as const) {
    const lines = cause(chosen).evidence.map(each => wordMessage(each, english));
    assert.deepEqual(lines.slice(-said.length), said, 'none is in use before WARP names one');
  }
  assert.equal(chosenConfiguration({ 'MDM Configuration': 'Second' }), 'Second');
  assert.equal(chosenConfiguration({ 'MDM Configuration': '<single-config>' }), null);
});

test('a device that an organization removed is never offered a private registration, with a policy file or without', () => {
  const told = { reason: { code: 'Revoked', text: 'Revoked' }, registration: undefined };
  for (const managed of [true, false]) {
    const cause = { code: 'removed' as const, managed, organization: null, host: null, evidence: [] };
    // an older daemon sends the reason only
    for (const status of [{ ...told, registration: cause }, told]) {
      const lost = lostRegistration({ ...BLOCKED, ...status } as Snapshot['status'], english)!;
      assert.deepEqual([lost.offer, lost.step.command, lost.step.actions], [null, 'culvert doctor', []]);
    }
    assert.match(registrationProblem(cause).extras.hint ?? '', /^See the evidence and the fix with: culvert doctor$/);
  }
});

for (const code of REGISTRATION_CAUSES) {
  test(`the cause ${code} has words, and culvert explain knows it`, () => {
    const { title, sentence } = generalWords(code, english);
    assert.match(title, /^[A-Z].*[^.]$/);
    assert.match(sentence, /\.$|culvert doctor$/);
    assert.ok(
      explain(KNOWLEDGE.codes, code).some(({ cause }) => cause === code),
      'explain',
    );
  });

  test(`on a managed computer, nothing registers a private device after ${code}`, () => {
    const cause = { code, managed: true, organization: 'acme', host: null, evidence: [] };
    const { offer, sentence } = registrationWords(cause, english);
    assert.notEqual(offer, 'register');
    assert.doesNotMatch(sentence, /register again|set up WARP/i);
    const { command, actions } = registrationStep(cause);
    assert.notEqual(command, 'culvert account register');
    assert.ok(!actions.includes('register'));
  });
}

test('a cause that only a newer daemon knows has general words', () => {
  const words = generalWords('of-tomorrow' as (typeof REGISTRATION_CAUSES)[number], english);
  assert.deepEqual(words, {
    title: 'Registration of this device',
    sentence: 'WARP has no registration for it.',
    offer: null,
  });
});
