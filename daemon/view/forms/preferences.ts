// Builds the page of Culvert's preferences. Each change is written to the user's configuration and returns as an event.
import type { Config, ConfigPatch, ConfigResponse } from '../../api/schema.ts';
import type { ClientState } from '../client/client-state.ts';
import {
  type ClientTask,
  type Command,
  clientCommand,
  type Form,
  type Group,
  noteForm,
  type Row,
  workCommand,
} from '../form.ts';
import { describeKillSwitch, installRows } from '../states/killswitch.ts';
import type { Translator } from '../translator.ts';

/** Languages with a complete catalog, with their native names. */
const LANGUAGES: readonly (readonly [tag: string, name: string])[] = [
  ['en', 'English'],
  ['de', 'Deutsch'],
  ['es', 'Español'],
  ['fr', 'Français'],
  ['pt-BR', 'Português (Brasil)'],
  ['ru', 'Русский'],
  ['ja', '日本語'],
  ['zh-CN', '简体中文'],
  ['ar', 'العربية'],
];

/** Facts about the desktop; null if they are unknown. */
export interface DesktopFacts {
  /** True if the desktop shows tray icons. */
  tray: boolean | null;
  /** True if Culvert starts with the session: its entry exists, and neither the user nor the desktop has disabled it. */
  autostart: boolean | null;
  /** True if the desktop has global shortcuts for apps (org.freedesktop.portal.GlobalShortcuts). */
  shortcuts: boolean | null;
}
export const UNKNOWN_DESKTOP: DesktopFacts = { tray: null, autostart: null, shortcuts: null };

/** @param clearHistory deletes the history; the default is for a search, which runs no command */
export function preferencesForm(
  client: ClientState,
  facts: DesktopFacts,
  tr: Translator,
  clearHistory: () => Promise<unknown> = async () => {},
): Form {
  const { _ } = tr;
  const { tray, autostart, shortcuts } = facts;
  const response = client.config;
  if (!response) return noteForm(_('Not available now'));
  const { config } = response;
  const toggle = toggles(response, tr);
  const select = selects(response, tr);
  return {
    groups: [
      {
        id: 'start',
        title: _('At login'),
        rows: [
          autostartRow(response, facts, tr),
          ...(tray !== false && (autostart ?? config.tray.autostart)
            ? [toggle(['tray', 'startHidden'], _('Start hidden'), _('Only the tray icon, without the window'))]
            : []),
        ],
      },
      {
        id: 'shortcuts',
        title: _('Keyboard'),
        rows:
          shortcuts === false
            ? []
            : [
                toggle(
                  ['tray', 'shortcuts'],
                  _('Global shortcuts'),
                  _(
                    'Connect, disconnect and pause from any app while the tray runs. Your desktop asks which keys to use.',
                  ),
                ),
              ],
      },
      lookGroup(select, tr),
      {
        id: 'notifications',
        title: _('Notifications'),
        description: _(
          'Notify when the kill switch blocks, a network wants a sign-in, a change is about to end, or an update fails.',
        ),
        rows: [
          select(['notifications', 'level'], _('Notify me of'), [
            { value: 'everything', label: _('Everything') },
            { value: 'needs-me', label: _('What needs me') },
            { value: 'nothing', label: _('Nothing') },
          ]),
        ],
      },
      {
        id: 'history',
        title: _('History'),
        rows: [
          toggle(
            ['history', 'enabled'],
            _('Keep a history'),
            _('Connections and statistics, for 90 days, on this computer only'),
          ),
          clearRow(clearHistory, client.offline === null, tr),
        ],
      },
      {
        id: 'metrics',
        title: _('Metrics'),
        rows: [
          toggle(['metrics', 'enabled'], _('Metrics for Prometheus'), _('Statistics for monitoring, at /api/metrics')),
          // has no effect without metrics
          ...(config.metrics.enabled
            ? [
                toggle(
                  ['metrics', 'hashAccounts'],
                  _('Hide the names of accounts'),
                  _('The metrics show hashes of them'),
                ),
              ]
            : []),
        ],
      },
      {
        id: 'updates',
        title: _('Updates'),
        rows: [
          toggle(['updates', 'checkOnStartup'], _('Look for updates at start'), null),
          select(['updates', 'channel'], _('Channel'), [
            { value: 'stable', label: _('Stable') },
            { value: 'beta', label: _('Beta') },
          ]),
        ],
      },
      {
        id: 'web',
        title: _('Web page'),
        rows: [
          toggle(['webui', 'enabled'], _('Serve a page for the browser'), _('On this computer only')),
          toggle(['ui', 'openBrowser'], _('Open it at start'), null),
        ],
      },
      settingsFileGroup(tr),
      {
        id: 'killswitch',
        title: _('Kill Switch'),
        rows: installRows(describeKillSwitch(client, tr), tr),
      },
    ],
  };
}

function clearRow(clear: () => Promise<unknown>, sensitive: boolean, { _ }: Translator): Row {
  return {
    kind: 'button',
    id: 'history.clear',
    title: _('Delete the history'),
    label: _('Delete…'),
    style: 'destructive',
    sensitive,
    command: workCommand(clear, {
      confirm: {
        heading: _('Delete the history?'),
        body: _('Everything that was recorded is deleted, on this computer and for every window.'),
        accept: _('Delete'),
        destructive: true,
      },
      done: _('The history is deleted'),
    }),
  };
}

function lookGroup(select: ReturnType<typeof selects>, { _ }: Translator): Group {
  return {
    id: 'look',
    title: _('Appearance'),
    rows: [
      select(['ui', 'theme'], _('Theme'), [
        { value: 'system', label: _('Follow system') },
        { value: 'light', label: _('Light') },
        { value: 'dark', label: _('Dark') },
      ]),
      select(['ui', 'locale'], _('Language'), [
        { value: '', label: _('Follow system') },
        ...LANGUAGES.map(([value, label]) => ({ value, label })),
      ]),
    ],
  };
}

/** Returns the switch for the start at login. */
export function autostartRow(
  response: ConfigResponse,
  { tray, autostart }: Pick<DesktopFacts, 'tray' | 'autostart'>,
  tr: Translator,
): Row {
  const about = tray === false ? null : tr._('With the tray icon');
  return toggles(response, tr)(['tray', 'autostart'], tr._('Start at login'), about, autostart);
}

/** Returns the group that exports and imports settings. */
function settingsFileGroup({ _ }: Translator): Group {
  const button = (task: ClientTask, title: string, subtitle: string, label: string): Row => ({
    kind: 'button',
    id: task,
    title,
    subtitle,
    label,
    command: clientCommand(task),
  });
  return {
    id: 'settings-file',
    title: _('Settings as a file'),
    rows: [
      button(
        'export-settings',
        _('Export settings'),
        _('Tunnel, routes and preferences, without secrets'),
        _('Export…'),
      ),
      button('apply-settings', _('Import settings'), _('Shows first what would change'), _('Choose File…')),
      button('undo-settings', _('Undo last import'), _('Restores what was set before it'), _('Undo')),
    ],
  };
}

type Section = keyof Config;

function patch(group: Section, key: string, value: unknown): Command {
  return { ask: { kind: 'config', patch: { [group]: { [key]: value } } as ConfigPatch } };
}

/** Returns the reason why the user's file can't change a key, or null: the environment or this session sets it. */
function decided({ sources }: ConfigResponse, name: string, { _ }: Translator): string | null {
  const layer = sources[name];
  if (layer === 'environment') return _('Set by the environment');
  return layer === 'session' ? _('Set for this session') : null;
}

function toggles(response: ConfigResponse, tr: Translator) {
  /** @param state the desktop's report, which replaces the configured value */
  function row<G extends Section>(
    [group, key]: [G, keyof Config[G] & string],
    title: string,
    about: string | null,
    state: boolean | null = null,
  ): Row {
    const name = `${group}.${key}`;
    const on = state ?? response.config[group][key] === true;
    const fixed = decided(response, name, tr);
    const restart = response.restartRequired.includes(name) ? tr._('Takes effect after a restart') : null;
    return {
      kind: 'switch',
      id: name,
      title,
      on,
      sensitive: fixed === null,
      subtitle: fixed ?? restart ?? about,
      command: patch(group, key, !on),
    };
  }
  return row;
}

function selects(response: ConfigResponse, tr: Translator) {
  return ([group, key]: [Section, string], title: string, options: { value: string; label: string }[]): Row => {
    const name = `${group}.${key}`;
    const fixed = decided(response, name, tr);
    const set = (response.config[group] as Record<string, unknown>)[key];
    // the default means that the user has not chosen a language
    const chosen = name === 'ui.locale' && (response.sources[name] ?? 'default') === 'default' ? '' : String(set);
    const listed = options.some(({ value }) => value === chosen);
    return {
      kind: 'select',
      id: name,
      title,
      subtitle: fixed,
      sensitive: fixed === null,
      value: chosen,
      options: listed ? options : [...options, { value: chosen, label: chosen }],
      command: value => patch(group, key, value === '' ? null : value),
    };
  };
}
