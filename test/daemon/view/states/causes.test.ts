// The causes of a state, with their words and remedies.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'smol-toml';
import { REGISTRATION_CAUSES } from '../../../../daemon/api/tunnel.ts';
import { causeEntries } from '../../../../daemon/view/states/cause-table.ts';
import { causeOf, causeTitle, phaseText } from '../../../../daemon/view/states/causes.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

const causes: [code: string | null, text: string, title: RegExp, remedy: string | null][] = [
  ['CaptivePortalTimedOut', '', /sign in/, 'Open Sign-in Page'],
  ['CaptivePortal', 'Captive portal', /sign in/, 'Open Sign-in Page'],
  ['HappyEyeballsFailed', 'Happy Eyeballs Failed', /No Cloudflare server/, 'Use HTTP/2'],
  ['CF_HAPPY_EYEBALLS_MITM_FAILURE', 'Cf happy eyeballs mitm failure', /inspects or blocks/, 'Use HTTP/2'],
  [null, 'CF_HAPPY_EYEBALLS_MITM_FAILURE', /inspects or blocks/, 'Use HTTP/2'],
  [null, 'Connectivity check failed due to DNS Lookup Failed', /DNS does not work/, 'Run Checks'],
  ['ConnectivityCheckFailed', 'Connectivity check failed due to DNS Lookup Failed', /DNS does not work/, 'Run Checks'],
  [
    'InsufficientSystemResource',
    'Insufficient system resource: file descriptor',
    /too many open files/,
    'Restart WARP',
  ],
  ['InsufficientSystemResource', 'Insufficient system resource: threads', /lacks a resource/, 'Run Checks'],
  ['InternalmTLSError', 'Internal mTLS error', /certificate part of WARP failed/, 'Try Again'],
  ['NoNetwork', 'No Network', /offline/, 'Network Settings'],
  ['Port53Bound', '', /DNS port/, 'Leave DNS Alone'],
  ['ProxyAddressBound', '', /proxy’s port/, 'Change Port'],
  ['DisabledForWiFi', '', /Off on Wi-Fi/, 'Trusted Networks'],
  ['RegistrationMissing', 'Registration Missing due to: Daemon Startup', /not set up/, 'Set Up'],
  ['EmergencyDisconnect', '', /administrator/, null],
  ['Frobnicated', 'Frobnicated entirely', /Can’t connect/, 'Run Checks'],
];

test('a title or a sentence belongs to one cause, except where Cloudflare has two codes for a network with a sign-in page', () => {
  const words = causeEntries(tr).flatMap(([codes, title, sentence]) => [
    [title, codes],
    [sentence, codes],
  ]);
  const shared = words.filter(([text], at) => words.findIndex(([other]) => other === text) !== at);
  assert.deepEqual(shared, [['This network wants you to sign in', ['CaptivePortal']]]);
});

test('no cause says which way traffic goes, which depends on the kill switch', () => {
  const claims = causeEntries(tr).filter(([, title, sentence]) =>
    /bypass|protected|goes through/i.test(`${title} ${sentence}`),
  );
  assert.deepEqual(claims, []);
});

for (const [code, text, title, remedy] of causes)
  test(`the reason ${code ?? text} has a title, a sentence and ${remedy ?? 'no button'}`, () => {
    const client = clientState({
      status: { state: 'unable', reason: { code, text } },
      settings: { 'WARP tunnel protocol': 'MASQUE' },
    });
    const cause = causeOf(client.snapshot!, tr)!;
    assert.match(cause.title, title);
    assert.ok(cause.sentence.length > 10);
    assert.equal(cause.remedy?.label ?? null, remedy);
  });

test('every error and reason of the vendor’s list has a cause, except what needs none', () => {
  const list = parse(readFileSync(new URL('../../../../data/knowledge/codes.toml', import.meta.url), 'utf8'));
  const codes = list.code as unknown as { code: string; also: string[]; kind: string; cause?: string }[];
  // causes of a missing registration have their own words
  const isRegistration = ({ cause }: { cause?: string }) => REGISTRATION_CAUSES.some(each => each === cause);
  const without = codes
    .filter(({ kind, code }) => (kind === 'error' || kind === 'reason') && !/^(Manual|SettingsChanged)$/.test(code))
    .filter(code => !isRegistration(code))
    .filter(({ code, also }) => ![code, ...also].some(name => causeTitle(name, tr) !== null))
    .map(({ code }) => code);
  assert.deepEqual(without, []);
});

test('a disconnection by the user, or through changed settings, shows no cause', () => {
  for (const code of ['Manual', 'SettingsChanged']) {
    const client = clientState({ status: { state: 'disconnected', reason: { code, text: code } } });
    assert.equal(causeOf(client.snapshot!, tr), null);
  }
});

test('the phases of connecting have words, whatever the version calls them', () => {
  assert.match(phaseText(null, 'Performing happy eyeballs to 162.159.198.2:443', tr), /fastest way/);
  assert.match(phaseText('PerformingConnectivityChecks', '', tr), /Testing/);
  assert.match(phaseText(null, 'Frobnicating', tr), /Setting up the tunnel/);
});
