// Checks the tunnel client: its installation, service, registration and session with an organization.
import * as z from 'zod/mini';
import type { Fix } from '../../api/doctor.ts';
import type { Snapshot } from '../../api/schema.ts';
import type { Message } from '../../api/values.ts';
import { DEMO_RESET, OLDEST_CLIENT } from '../../view/client/labels.ts';
import { isProgramFailure } from '../../view/states/causes.ts';
import { isMember } from '../../view/states/registration.ts';
import { isOld } from '../../view/states/summary.ts';
import { N_ } from '../../view/translator.ts';
import { installSteps } from '../../warp/cli/install-steps.ts';
import { KEY_CHARACTERS, linesOf, propertyOf } from '../../warp/parse/output.ts';
import { type Check, inEnglish, labeled, message, notApplicable, notice, ok, problem, quoted } from '../check.ts';
import { as } from '../world/bus.ts';
import { adminCommands, RESTART_WARP, releaseNotes, tunnelOf, vendorPage } from '../world/facts.ts';
import type { World } from '../world/world.ts';

export const tunnelCli: Check = {
  id: 'tunnel-cli',
  title: N_('Tunnel CLI'),
  group: 'service',
  source: 'https://pkg.cloudflareclient.com',
  cheap: true,
  async probe(world) {
    const { tunnelCli: cli, status } = tunnelOf(world);
    if (cli.emulated)
      return notice(
        [message('demo: nothing is tunneled')],
        message('For a real tunnel install Cloudflare WARP and start without --demo.'),
      );
    if (!cli.available || status.blocked === 'cli-missing')
      return problem(
        [message('%s was not found', world.culvert.cli)],
        message('Install Cloudflare WARP, or try Culvert without it: culvert --demo'),
        await installFix(world),
      );
    if (status.blocked === 'cli-too-old')
      return problem(
        [message('%s, version %s', cli.path ?? world.culvert.cli, cli.version ?? '?')],
        message('Cloudflare WARP %s is too old: install version %s or newer.', cli.version ?? '?', OLDEST_CLIENT),
        await installFix(world),
      );
    return ok(
      cli.version
        ? message('%s, version %s', cli.path ?? world.culvert.cli, cli.version)
        : quoted(cli.path ?? world.culvert.cli),
    );
  },
};

/** Returns the commands for this system, or the page of the packages. */
export async function installFix({ files }: World): Promise<Fix> {
  const steps = installSteps((await files.readText('/etc/os-release').catch(() => null)) ?? '', process.arch);
  if (steps?.privileged) return adminCommands(message('Install Cloudflare WARP'), steps.commands);
  return { kind: 'open', ...labeled(message('Open the download page')), url: 'https://pkg.cloudflareclient.com' };
}

const START = adminCommands(message('Start the WARP service'), [['systemctl', 'enable', '--now', 'warp-svc']], {
  undo: [['systemctl', 'disable', '--now', 'warp-svc']],
  repair: ['start-warp'],
});

export const service: Check = {
  id: 'service',
  title: N_('WARP service'),
  group: 'service',
  source: vendorPage('troubleshooting/common-issues/'),
  cheap: true,
  async probe(world) {
    const { status, tunnelCli: cli } = tunnelOf(world);
    if (!cli.available) return notApplicable(message('The tunnel CLI is not installed.'));
    if (cli.emulated && status.blocked?.startsWith('service-'))
      return problem(
        [message('demo: nothing is tunneled')],
        message('The demo simulates this failure. End it with: %s', DEMO_RESET),
      );
    switch (status.blocked) {
      case 'cli-too-old':
        return notApplicable(message('Cloudflare WARP is too old'));
      case 'service-stopped':
        return problem([evidenceOf(await readUnit(world))], message('The WARP service is not running.'), START);
      case 'service-hangs': {
        const unit = await readUnit(world);
        return problem(
          [evidenceOf(unit)],
          unit?.active === 'active'
            ? message('The WARP service is running, but does not answer. Restart it.')
            : message('WARP does not answer. Restart its service.'),
          RESTART_WARP,
        );
      }
      case 'terms-not-accepted':
        return problem(
          [message('warp-cli asks you to accept the terms of service')],
          message('The terms of service have not been accepted.'),
          {
            kind: 'action',
            ...labeled(message('Accept the terms')),
            actions: [{ action: 'acceptTerms' }],
            undo: [],
          },
        );
      case 'not-authorized':
        return problem(
          [status.raw === null ? message('warp-cli refuses this user') : inEnglish(status.raw)],
          message(
            'WARP does not let this user control it. Use the account that registered this device, or ask your administrator.',
          ),
        );
      default:
        if (isProgramFailure(status))
          return problem(
            [status.raw?.trim() ? inEnglish(status.raw.trim()) : message('warp-cli printed nothing')],
            message(
              'It does not say whether the tunnel is up. If this continues, restart WARP’s service, or install WARP again.',
            ),
            RESTART_WARP,
          );
        if (isOld(status))
          return problem(
            status.lastKnown.said === null ? [message('warp-cli did not answer')] : [inEnglish(status.lastKnown.said)],
            message('WARP’s state was last known at %s.', { time: status.lastKnown.at }),
            RESTART_WARP,
          );
        return ok(message('the service answers'));
    }
  },
};

const UNIT_NAME = 'warp-svc.service';
const Unit = z.tuple([z.string(), z.string(), z.string()]);
const UNIT = { service: 'org.freedesktop.systemd1', path: '/org/freedesktop/systemd1/unit/warp_2dsvc_2eservice' };

/** Returns what systemd says of the unit of WARP's service; null if systemd does not answer. */
async function readUnit(world: World): Promise<{ load: string; active: string; file: string } | null> {
  const target = { ...UNIT, interface: 'org.freedesktop.systemd1.Unit' };
  const values = await world.bus.properties(target, ['LoadState', 'ActiveState', 'UnitFileState']).catch(() => null);
  const unit = as(Unit, values);
  return unit && { load: unit[0], active: unit[1], file: unit[2] };
}

function evidenceOf(unit: Awaited<ReturnType<typeof readUnit>>): Message {
  if (!unit?.load) return message('warp-cli cannot reach the service');
  if (unit.load === 'not-found') return message('systemd knows no unit %s', UNIT_NAME);
  return message('%s is %s, and at start: %s', UNIT_NAME, unit.active, unit.file || '?');
}

/** Returns the number of restarts by systemd, or null if unknown. */
export async function restartsOf(world: World): Promise<number | null> {
  const target = { ...UNIT, interface: 'org.freedesktop.systemd1.Service' };
  const [value] = (await world.bus.properties(target, ['NRestarts']).catch(() => null)) ?? [];
  return as(z.int(), value);
}

const STUCK_MS = 60_000;

export const registrationStuck: Check = {
  id: 'registration-stuck',
  title: N_('Registration that does not finish'),
  group: 'service',
  source: releaseNotes,
  appliesTo: { versions: { since: '2026.4.1350.0', before: '2026.7.1343.0' } },
  cheap: true,
  async probe(world) {
    const { status, tunnelCli: cli } = tunnelOf(world);
    if (cli.emulated) return notApplicable(message('The embedded emulator tunnels nothing.'));
    const text = `${status.reason?.text ?? ''} ${status.raw ?? ''}`;
    const checking = /checking your organi[sz]ation/i.test(text);
    if (!checking && status.blocked !== 'not-registered')
      return notApplicable(message('No registration is under way.'));
    const seconds = Math.round((world.now() - Date.parse(status.since)) / 1000);
    const evidence = [message('%s, for %d s', status.reason?.text ?? status.raw ?? '?', seconds)];
    if (!checking || seconds * 1000 < STUCK_MS)
      return checking ? ok(...evidence) : notApplicable(message('No registration with an organization is under way.'));
    return problem(
      evidence,
      message(
        'In this version the window and the service can lose contact during a registration. Restart the service, then register again; update WARP to 2026.7.1343.0 or later.',
      ),
      RESTART_WARP,
    );
  },
};

const SOON_MS = 24 * 3_600_000;
const SESSION_KEY = /(?:session|auth\w*)[ _-]*(?:expir\w*|valid[ _-]until|ends?)/i;
const EXPIRED = /authentication expired|session (?:has )?expired|re-?authenticat/i;

export const sessionExpiry: Check = {
  id: 'session-expiry',
  title: N_('Session with the organization'),
  group: 'service',
  source: vendorPage('configure/client-sessions/'),
  cheap: true,
  async probe(world) {
    const snapshot = tunnelOf(world);
    if (isMember(snapshot) === false) return notApplicable(message('This device belongs to no organization.'));
    const logIn = message('Log in again: open the WARP window, or run %s.', 'warp-cli debug access-reauth');
    const ended = [message('The session has ended.'), logIn];
    const text = `${snapshot.status.reason?.text ?? ''} ${snapshot.status.raw ?? ''}`;
    if (EXPIRED.test(text))
      return problem(
        [snapshot.status.reason?.text ? inEnglish(snapshot.status.reason.text) : message('WARP asks for a new login')],
        ended,
      );
    const ends = sessionEnd(snapshot);
    if (ends === null) return notApplicable(message('This version does not report when the session ends.'));
    const evidence = [message('The session ends at %s.', { time: new Date(ends).toISOString() })];
    if (ends <= world.now()) return problem(evidence, ended);
    if (ends - world.now() <= SOON_MS) return notice(evidence, [message('The session ends within a day.'), logIn]);
    return ok(...evidence);
  },
};

/** Reads a time such as `session_expires_at`, in ISO 8601 or seconds, from the settings or the registration. */
function sessionEnd({ settings, commands }: Snapshot): number | null {
  const listed = Object.entries(settings).find(([key]) => SESSION_KEY.test(key.slice(0, KEY_CHARACTERS)))?.[1];
  const printed = linesOf(commands.registration?.stdout ?? '')
    .map(propertyOf)
    .find(property => property && SESSION_KEY.test(property.key))?.value;
  const value = listed ?? printed;
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const number = Number(value);
  const time = Number.isFinite(number) ? (number > 1e12 ? number : number * 1000) : Date.parse(value as string);
  return Number.isNaN(time) || time < 1e12 ? null : time;
}
