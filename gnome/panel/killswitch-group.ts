// The kill switch as rows: its switch, the local network, a pause with its countdown, and what holds the rules.
import './resource.ts';
import Adw from 'gi://Adw?version=1';
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import type Gtk from 'gi://Gtk?version=4.0';
import { _, words } from '../i18n.ts';
import { describeKillSwitch, type KillSwitchView, PAUSES, pauseLeft, pauseName } from '../killswitch-view.ts';
import { fill } from '../words.ts';
import { commandBox } from './command-box.ts';
import { announce } from './compat.ts';
import { type ConfirmedSwitch, confirmSwitch } from './confirmed-switch.ts';
import type { Shell } from './shell.ts';

export class KillSwitchGroup extends Adw.PreferencesGroup {
  static {
    GObject.registerClass(
      {
        GTypeName: 'CulvertKillSwitchGroup',
        Template: 'resource:///org/culvert/Culvert/ui/killswitch-group.ui',
        InternalChildren: [
          ...['main', 'toggle', 'pausing', 'pause', 'resume', 'lan_row', 'lan'],
          ...['protection', 'boot', 'detail', 'command'],
        ],
      },
      KillSwitchGroup,
    );
  }
  declare readonly _main: Adw.ActionRow;
  declare readonly _toggle: Gtk.Switch;
  declare readonly _pausing: Adw.ActionRow;
  declare readonly _pause: Gtk.MenuButton;
  declare readonly _resume: Gtk.Button;
  declare readonly _lan_row: Adw.ActionRow;
  declare readonly _lan: Gtk.Switch;
  declare readonly _protection: Adw.ActionRow;
  declare readonly _boot: Adw.ActionRow;
  declare readonly _detail: Gtk.Label;
  declare readonly _command: Adw.Bin;

  readonly #shell: Shell;
  readonly #switch: ConfirmedSwitch;
  readonly #lan: ConfirmedSwitch;
  #view: KillSwitchView | null = null;

  constructor(shell: Shell) {
    super();
    this.#shell = shell;
    this.#switch = confirmSwitch(this._toggle, enabled => this.#change({ enabled, allowLan: this.#view!.allowLan }));
    this.#lan = confirmSwitch(this._lan, allowLan => this.#change({ enabled: this.#view!.on, allowLan }));
    this._pause.menu_model = this.#pauseMenu();
    this._resume.connect('clicked', () => this.#change({ seconds: 0 }));
  }

  refreshState(): void {
    const before = this.#view;
    const view = describeKillSwitch(this.#shell.model.facts(), words);
    this.#view = view;
    this._main.subtitle = view.sentence;
    for (const tone of ['success', 'warning', 'error'] as const) {
      if (tone === view.tone) this._main.add_css_class(`culvert-${tone}`);
      else this._main.remove_css_class(`culvert-${tone}`);
    }
    if (before && before.look !== view.look) announce(this._main, view.sentence);
    this.#switch.show(view.on, view.sensitive);
    const installed = view.look !== 'not-installed';
    this._lan_row.visible = installed;
    this.#lan.show(view.allowLan, view.sensitive);

    const paused = view.pausedUntil !== null;
    this._pausing.visible = installed && view.on;
    this._pause.visible = !paused;
    this._pause.sensitive = view.pausable;
    this._resume.visible = paused;
    this._resume.sensitive = view.sensitive;
    this._pausing.title = paused ? _('Paused') : _('Pause the block');
    this.tick();

    showText(this._protection, view.protection);
    showText(this._boot, view.boot);
    this._detail.label = view.detail ?? '';
    this._detail.visible = view.detail !== null;
    if (!before || JSON.stringify(before.command) !== JSON.stringify(view.command)) this.#showCommand(view.command);
  }

  /** Moves what only time moves. */
  tick(): void {
    const until = this.#view?.pausedUntil ?? null;
    this._pausing.subtitle =
      until === null
        ? _('For a login page, or to install WARP')
        : // Translators: %s is a clock such as 4:32
          fill(_('%s left'), pauseLeft(until, Date.now(), words));
  }

  #change(change: { enabled: boolean; allowLan: boolean } | { seconds: number }): void {
    this.#shell.model.changeKillSwitch(change).catch(error => this.#shell.complain(error));
  }

  #showCommand(command: KillSwitchView['command']): void {
    this._command.visible = command !== null;
    if (command)
      this._command.child = commandBox(command.purpose, command.command, () =>
        this.#shell.say(_('Copied to the clipboard')),
      );
  }

  #pauseMenu(): Gio.Menu {
    const action = new Gio.SimpleAction({ name: 'pause', parameter_type: GLib.VariantType.new('i') });
    action.connect('activate', (_action, minutes) => this.#change({ seconds: 60 * (minutes!.unpack() as number) }));
    const actions = new Gio.SimpleActionGroup();
    actions.add_action(action);
    this.insert_action_group('killswitch', actions);
    const menu = new Gio.Menu();
    for (const minutes of PAUSES) menu.append(pauseName(minutes, words), `killswitch.pause(${minutes})`);
    return menu;
  }
}

/** A row whose subtitle says it; null takes the row away. */
function showText(row: Adw.ActionRow, text: string | null): void {
  row.visible = text !== null;
  row.subtitle = text ?? '';
}
