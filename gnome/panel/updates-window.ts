// The window of updates: what is installed, what the last check said, and an update's progress or way back.
import './resource.ts';
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { _, words } from '../i18n.ts';
import type { Model } from '../model.ts';
import { describeUpdate } from '../update-view.ts';
import { fill } from '../words.ts';
import { commandBox } from './command-box.ts';
import { ask, presentOver } from './compat.ts';
import { type FactRow, factRow } from './fact-row.ts';
import type { Shell } from './shell.ts';
import { createToasts, type Toasts } from './toasts.ts';

declare const __VERSION__: string;

export class UpdatesWindow extends Adw.Window {
  static {
    GObject.registerClass(
      {
        GTypeName: 'CulvertUpdatesWindow',
        Template: 'resource:///org/culvert/Culvert/ui/updates-window.ui',
        InternalChildren: [
          ...['bin', 'versions', 'outcome', 'check', 'checking', 'problem', 'working', 'progress'],
          ...['apply_row', 'apply', 'rollback_row', 'rollback', 'command'],
        ],
      },
      UpdatesWindow,
    );
  }
  declare readonly _bin: Adw.Bin;
  declare readonly _versions: Adw.PreferencesGroup;
  declare readonly _outcome: Adw.ActionRow;
  declare readonly _check: Gtk.Button;
  declare readonly _checking: Gtk.Spinner;
  declare readonly _problem: Gtk.Label;
  declare readonly _working: Gtk.Box;
  declare readonly _progress: Gtk.ProgressBar;
  declare readonly _apply_row: Adw.ActionRow;
  declare readonly _apply: Gtk.Button;
  declare readonly _rollback_row: Adw.ActionRow;
  declare readonly _rollback: Gtk.Button;
  declare readonly _command: Adw.Bin;

  readonly #model: Model;
  readonly #toasts: Toasts;
  readonly #current: FactRow;
  readonly #channel: FactRow;
  #waiting: 'check' | 'change' | null = null;
  #command: string | null = null;

  constructor(parent: Gtk.Window, model: Model) {
    super({ transient_for: parent });
    this.#model = model;
    this.#toasts = createToasts(this);
    const page = this._bin.child;
    this._bin.child = this.#toasts.overlay;
    this.#toasts.overlay.set_child(page);
    this.#current = factRow(this._versions, _('Installed version'));
    this.#channel = factRow(this._versions, _('Channel'));
    this._check.connect('clicked', () => void this.check());
    this._apply.connect('clicked', () => void this.apply());
    this._rollback.connect('clicked', () => void this.#rollBack());
    const keys = new Gtk.ShortcutController();
    const trigger = Gtk.ShortcutTrigger.parse_string('Escape')!;
    keys.add_shortcut(new Gtk.Shortcut({ trigger, action: Gtk.NamedAction.new('window.close') }));
    this.add_controller(keys);
    this.refreshState();
    this.set_focus(this._check);
    presentOver(this);
    if (!model.facts().update && !model.facts().loss) void this.check();
  }

  refreshState(): void {
    const { update, config, loss } = this.#model.facts();
    const view = describeUpdate(update, config, __VERSION__, words);
    this.#current.show(view.current);
    this.#channel.show(view.channel);
    this._outcome.title = view.outcome ?? _('Not checked yet');
    this._outcome.subtitle =
      // Translators: %s is a date and time
      view.checkedAt === null ? '' : fill(_('Checked on %s'), new Date(view.checkedAt).toLocaleString());
    const free = this.#waiting === null && !loss && !view.progress;
    this._check.sensitive = free;
    this._check.visible = this.#waiting !== 'check';
    this._checking.visible = this.#waiting === 'check';
    this._problem.visible = view.problem !== null;
    this._problem.label = view.problem ?? '';

    this._working.visible = view.progress !== null;
    this._progress.text = view.progress?.text ?? '';
    if (view.progress && view.progress.fraction === null) this._progress.pulse();
    else this._progress.fraction = view.progress?.fraction ?? 0;

    this._apply_row.visible = view.applicable;
    // Translators: %s is a version
    this._apply_row.title = fill(_('Install Culvert %s'), update?.latest ?? '');
    this._apply.sensitive = free;
    this._rollback_row.visible = view.previous !== null;
    // Translators: %s is a version
    this._rollback_row.title = fill(_('Go back to Culvert %s'), view.previous ?? '');
    this._rollback.sensitive = free;
    if (view.command !== this.#command) this.#showCommand(view.command);
    this._command.visible = view.command !== null;
  }

  async check(): Promise<void> {
    await this.#during('check', async () => {
      await this.#model.checkUpdate();
    });
  }

  /** Installs the newest version; its progress comes as events. */
  async apply(): Promise<void> {
    await this.#during('change', async () =>
      this.#done(await this.#model.call('POST /api/update/apply', { body: {} })),
    );
  }

  async #rollBack(): Promise<void> {
    const previous = this.#model.facts().update?.previous;
    if (!previous) return;
    const answer = await ask(this, {
      heading: fill(_('Go back to Culvert %s?'), previous),
      body: _('The daemon restarts. The tunnel stays as it is.'),
      responses: [
        ['cancel', _('Cancel')],
        ['back', _('Go Back')],
      ],
      destructive: 'back',
    });
    if (answer !== 'back') return;
    await this.#during('change', async () =>
      this.#done(await this.#model.call('POST /api/update/rollback', { body: {} })),
    );
  }

  #done({ to }: { to: string }): void {
    // this window is still the old version's
    this.#toasts.say(fill(_('Culvert %s is installed. Quit this window and open it again to use it.'), to));
  }

  /** One request at a time; the buttons show it. */
  async #during(what: 'check' | 'change', work: () => Promise<void>): Promise<void> {
    if (this.#waiting) return;
    this.#waiting = what;
    this.refreshState();
    try {
      await work();
    } catch (error) {
      this.#toasts.complain(error);
    } finally {
      this.#waiting = null;
      this.refreshState();
    }
  }

  #showCommand(command: string | null): void {
    this.#command = command;
    if (command !== null) this._command.child = updateCommand(command, this.#toasts.say);
  }
}

/** Shows the command that brings the new version where the daemon can't. */
export async function showUpdateCommand(shell: Shell): Promise<void> {
  const { update } = shell.model.facts();
  if (!update?.command) return;
  await shell.ask({
    heading: fill(_('Culvert %s is available'), update.latest ?? ''),
    body: _('It is installed as it came, with this machine’s packages.'),
    extra: updateCommand(update.command, shell.say),
    responses: [['ok', _('OK')]],
  });
}

function updateCommand(command: string, say: (text: string) => void): Gtk.Widget {
  return commandBox(_('Run this in a terminal:'), command, () => say(_('Copied to the clipboard')));
}
