// Describes WARP's local proxy, which tunnels only the apps that use it.
import type { Snapshot } from '../../api/schema.ts';
import type { ClientState } from '../client/client-state.ts';
import { modeName } from '../client/labels.ts';
import type { Button, Command } from '../form.ts';
import { fill, type Translator } from '../translator.ts';
import { serviceRemedy } from './causes.ts';
import { tunneledText } from './coverage.ts';
import { blockedRest } from './killswitch.ts';
import { problemTitle } from './problems.ts';

/** State of the local proxy. */
export interface ProxyView {
  look: 'unavailable' | 'off' | 'on';
  /** Says which traffic uses WARP. */
  sentence: string;
  /** `127.0.0.1:40000`, or null if it is unknown. */
  address: string | null;
  /** Warning before an app is started, or why the proxy can't be turned on; or null. */
  warning: string | null;
  /** Why the proxy could not be turned on, with a known remedy. */
  failure: { text: string; remedy: Button | null } | null;
  /** Turns the proxy on after a question. */
  enable: Button;
  /** True if the proxy can be turned on. */
  sensitive: boolean;
  /** True while the proxy is being turned on. */
  waiting: boolean;
}

/** Turns the local proxy on. Asks first, because all other traffic then bypasses WARP. */
function enableProxyCommand(snapshot: Snapshot | null, tr: Translator): Command {
  const { _ } = tr;
  return {
    ask: { kind: 'action', request: { action: 'enableLocalProxy' } },
    confirm: {
      heading: _('Tunnel only chosen apps?'),
      body: [
        snapshot?.status.state === 'connected' ? tunneledText(snapshot, tr) : null,
        _('From then on only the apps that you start here use WARP.'),
        blockedRest(snapshot, tr),
      ]
        .filter(Boolean)
        .join(' '),
      accept: _('Tunnel Chosen Apps'),
    },
  };
}

/** Describes the local proxy in the language of `tr`. */
export function describeProxy(client: ClientState, tr: Translator): ProxyView {
  const { snapshot, offline, pending } = client;
  const { _ } = tr;
  const mode = snapshot?.settings.Mode;
  const on = mode === 'proxy';
  const address = on ? addressOf(snapshot!.tunnel.proxyPort) : null;
  return {
    look: !snapshot ? 'unavailable' : on ? 'on' : 'off',
    sentence: on
      ? // Translators: %s is an address such as 127.0.0.1:40000
        fill(
          _('Apps that you start here use WARP; everything else bypasses it. Proxy for other apps: %s'),
          address ?? '–',
        )
      : fill(
          // Translators: %s is the name of a mode, such as: All traffic
          _('Apps that you start here use WARP; everything else then bypasses it. Mode now: %s.'),
          mode ? modeName(mode, tr).title : '–',
        ),
    address,
    warning: warningOf(client, on, tr),
    failure: on ? null : failureOf(client, tr),
    enable: { label: _('Tunnel Only Chosen Apps'), command: enableProxyCommand(snapshot, tr) },
    sensitive:
      !offline && snapshot !== null && !snapshot.status.blocked && !snapshot.options.modeLocked && pending === null,
    waiting: pending === 'enableLocalProxy',
  };
}

function warningOf({ snapshot, offline }: ClientState, on: boolean, { _ }: Translator): string | null {
  if (!snapshot || offline) return null;
  if (!on) return snapshot.options.modeLocked ? _('Your organization decides the mode.') : null;
  return snapshot.status.state === 'connected'
    ? null
    : _('The tunnel is not connected: apps started now can’t reach anything.');
}

function failureOf({ proxyProblem, snapshot }: ClientState, tr: Translator): ProxyView['failure'] {
  if (!proxyProblem) return null;
  // WARP accepts commands, but does not carry them out
  const stuck = proxyProblem.code === 'proxy-not-answering' || proxyProblem.code === 'tunnel-cli-timeout';
  return {
    text: problemTitle(proxyProblem, tr),
    remedy: stuck ? serviceRemedy('restart', snapshot?.tunnelCli ?? {}, tr) : null,
  };
}

/** Returns the address of the local proxy, which listens only on this machine. */
function addressOf(port: number | null): string | null {
  return port === null ? null : `127.0.0.1:${port}`;
}
