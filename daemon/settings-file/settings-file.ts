// Exports settings as a file, compares a file with the current settings, and applies it completely or not at all.
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ActionRequest, TunnelSubject as Subject } from '../api/actions.ts';
import type { ConfigResponse } from '../api/schema.ts';
import type { SettingsApplyRequest, SettingsDiff, SettingsExport } from '../api/settings-file.ts';
import type { Message } from '../api/values.ts';
import { actionsTo, currentValue, type Known, knownNow, textOf, type Value } from '../changes/values.ts';
import type { ChangesControl, FeatureContext, RoutesControl } from '../controls.ts';
import { errno, reason, reasonWithPath } from '../core/errors.ts';
import { makeDirectory, replaceFile } from '../core/files.ts';
import { Problem } from '../problem.ts';
import { message, quoted } from '../view/message.ts';
import { mayHaveChanged } from '../warp/cli/failures.ts';
import { patchOf, readSettings, reasonFor, writeSettings } from './document.ts';

type Context = Pick<FeatureContext, 'paths' | 'state' | 'tunnel' | 'settings' | 'say'>;

/** Limit for each change while a file is applied. If the daemon is killed, unfinished changes revert after this time. */
const STEPS_SECONDS = 600;
/** Keys that a file of settings can't set, with the reasons. */
const NOT_APPLIED: Readonly<Record<string, Message>> = {
  'server.port': message('is set only in the configuration file'),
  'server.bind': message('is set only in the configuration file'),
  'webui.allowRemote': message('is set only in the configuration file'),
  'warp.cli': message('is set only in the configuration file'),
  'warp.killSwitch': message('is turned on with: culvert killswitch on'),
  'warp.allowLan': message('is set with the kill switch: culvert killswitch on --allow-lan'),
};

interface Step {
  key: string;
  from: string | null;
  to: string | null;
  subject: Subject;
  actions: ActionRequest[];
}

export function createSettingsFile(context: Context, changes: ChangesControl, routes: () => Promise<RoutesControl>) {
  const { paths, state, tunnel, settings, say } = context;

  async function plan(toml: string) {
    await tunnel.refresh('stale');
    const file = readSettings(toml);
    const snapshot = knownNow(context);
    const skipped = file.unknown.map(key => reasonFor(key, message('is not known to this version of Culvert')));
    const steps: Step[] = [];
    for (const { key, wanted } of file.tunnel) {
      const now = currentValue(wanted.subject, snapshot);
      const actions = actionsTo(wanted, now);
      const supported = await Promise.all(actions.map(({ action }) => tunnel.supports(action)));
      if (!now) skipped.push(reasonFor(key, message('is not reported by the tunnel client')));
      else if (!supported.every(Boolean))
        skipped.push(reasonFor(key, message('has no command in this version of warp-cli')));
      else if (actions.length)
        steps.push({ key, from: shown(now), to: shown(wanted), subject: wanted.subject, actions });
    }
    const { config } = settings;
    const culvert = file.culvert.filter(({ key, value }) => {
      const [group, leaf] = key.split('.') as [keyof typeof config, string];
      const isSet = (config[group] as Record<string, unknown>)[leaf] === value;
      if (!isSet && NOT_APPLIED[key]) skipped.push(reasonFor(`culvert.${key}`, NOT_APPLIED[key]));
      return !isSet && !NOT_APPLIED[key];
    });
    const list = file.routes === null ? null : await previewed(file.routes, skipped, file.invalid);
    const fromDemo = file.demo && !snapshot.tunnelCli.emulated;
    return { ...file, steps, culvert, list, skipped, fromDemo };
  }

  /** Previews a list. Returns null if the list is already set, or can't be set here. */
  async function previewed(document: string, skipped: SettingsDiff['skipped'], invalid: SettingsDiff['invalid']) {
    const key = ENTRIES;
    if (state.snapshot().account.managed) {
      skipped.push(reasonFor(key, message('is managed by your organization')));
      return null;
    }
    const difference = await (await routes()).preview({ document });
    if (invalid.length === 0)
      invalid.push(...difference.invalid.map(each => reasonFor('split_tunnel', each.message ?? quoted(each.reason))));
    return difference.add.length + difference.remove.length ? difference : null;
  }

  /** @throws Problem document-invalid, state-not-writable, or a problem of the tunnel CLI; changes are then reverted */
  async function apply({ toml, confirmWithin, allowDemo }: SettingsApplyRequest): Promise<SettingsDiff> {
    const planned = await plan(toml);
    const diff = toDiff(planned);
    const [wrong] = diff.invalid;
    if (wrong) throw new Problem('document-invalid', `${wrong.key}: ${wrong.reason}. Nothing was changed.`, {});
    if (planned.fromDemo && !allowDemo) {
      const detail = 'This file was exported from a demo, and does not describe a machine. Nothing was changed.';
      throw new Problem('document-invalid', detail, { hint: 'To apply it: culvert settings apply --demo-file FILE' });
    }
    if (diff.changes.length === 0) return diff;
    const also = new Set(planned.culvert.map(({ key }) => key));
    const earlier = await pendingBefore(planned, changes);
    keep(writeSettings(knownNow(context), settings.response(), also));
    const made: Subject[] = [];
    const limit = { confirmWithin: confirmWithin ?? STEPS_SECONDS };
    /** The subject whose change is under way. */
    let changing: Subject | null = null;
    try {
      for (const { subject, actions } of planned.steps)
        for (const action of actions) {
          changing = subject;
          await changes.runWithLimit({ ...action, ...limit });
          changing = null;
          if (!made.includes(subject)) made.push(subject);
        }
      if (planned.list && planned.routes !== null) {
        await (await routes()).apply({ document: planned.routes, cause: 'settings', ...limit });
        made.push('routes');
      }
      if (planned.culvert.length) await settings.setUser(patchOf(planned.culvert));
    } catch (error) {
      if (changing && !made.includes(changing) && mayHaveChanged(error)) made.push(changing);
      // a change that can't be reverted now reverts when its limit expires
      for (const subject of made.toReversed())
        await (earlier.get(subject)?.() ?? changes.revert({ subject })).catch(cause =>
          say(`Settings: ${reason(cause)}`),
        );
      throw error;
    }
    // a change back to the previous value is already confirmed
    const unconfirmed = new Set(state.snapshot().changes.flatMap(each => (each.confirmBy ? each.subject : [])));
    if (confirmWithin === undefined)
      for (const subject of made) if (unconfirmed.has(subject)) await changes.confirm({ subject });
    return diff;
  }

  /** @throws Problem state-not-writable */
  function keep(toml: string): void {
    try {
      makeDirectory(dirname(paths.settingsBefore));
      replaceFile(paths.settingsBefore, toml);
    } catch (error) {
      throw new Problem('state-not-writable', reason(error), {}, error);
    }
  }

  return {
    async export(): Promise<SettingsExport> {
      await tunnel.refresh('stale');
      return exported(knownNow(context), settings.response());
    },
    diff: async (toml: string): Promise<SettingsDiff> => toDiff(await plan(toml)),
    apply,
    /**
     * Restores the settings that the last file replaced. A second call applies the file again.
     * @throws Problem nothing-to-undo, or any problem of `apply`
     */
    async undo(confirmWithin?: number): Promise<SettingsDiff> {
      let toml: string;
      try {
        toml = readFileSync(paths.settingsBefore, 'utf8');
      } catch (error) {
        const detail = errno(error) === 'ENOENT' ? 'No file of settings was applied.' : reasonWithPath(error);
        throw new Problem('nothing-to-undo', detail, {}, error);
      }
      return apply({ toml, confirmWithin });
    },
  };
}

function exported(known: Known, config: ConfigResponse): SettingsExport {
  const stale = known.stale.filter(({ part }) => part === 'settings' || part === 'splitTunnel');
  return { ok: true, toml: writeSettings(known, config), ...(stale.length ? { stale } : {}) };
}

type Planned = Pick<SettingsDiff, 'skipped' | 'invalid'> & {
  steps: Step[];
  culvert: { key: string; value: unknown }[];
  list: { add: { value: string }[]; remove: { value: string }[] } | null;
  fromDemo: boolean;
};

const ENTRIES = 'split_tunnel.entries';

function toDiff({ steps, culvert, list, skipped, invalid, fromDemo }: Planned): SettingsDiff {
  return {
    ok: true,
    changes: [
      ...steps.map(({ key, from, to }) => ({ key, from, to })),
      ...(list?.remove ?? []).map(({ value }) => ({ key: ENTRIES, from: value, to: null })),
      ...(list?.add ?? []).map(({ value }) => ({ key: ENTRIES, from: null, to: value })),
      ...culvert.map(({ key, value }) => ({ key: `culvert.${key}`, from: null, to: String(value) })),
    ],
    skipped,
    invalid,
    ...(fromDemo ? { fromDemo } : {}),
  };
}

function shown(value: Value): string | null {
  return value.subject === 'fallback' ? value.value.join(', ') : textOf(value);
}

/** Returns the functions that restore the user's own pending changes, which the file may replace. */
async function pendingBefore(
  { steps, list }: Planned,
  changes: ChangesControl,
): Promise<Map<Subject, () => Promise<void>>> {
  const found = new Map<Subject, () => Promise<void>>();
  const routesToo: Subject[] = list ? ['routes'] : [];
  for (const subject of new Set([...steps.map(step => step.subject), ...routesToo])) {
    const restore = await changes.checkpoint(subject);
    if (restore) found.set(subject, restore);
  }
  return found;
}
