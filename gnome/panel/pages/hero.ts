// Builds the head of the connection page: the disc, the state and its countdown, the public location, and the buttons.
import Adw from 'gi://Adw?version=1';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type { Command, Span, Tone } from '../../../daemon/view/form.ts';
import type { ProofView } from '../../../daemon/view/states/proof.ts';
import { type Countdown, describeCountdown, timeLeftText } from '../../../daemon/view/states/timed.ts';
import type { View } from '../../../daemon/view/view.ts';
import { _, tr } from '../../i18n.ts';
import { setDescription, setName } from '../widgets/accessible.ts';
import { copyButton, labelButton } from '../widgets/buttons.ts';
import { vertical } from '../widgets/columns.ts';
import { announce } from '../widgets/compat.ts';
import { Ring } from '../widgets/graph.ts';

const TONES: Tone[] = ['success', 'accent', 'warning', 'error', 'neutral'];

/** Builds the disc, the texts and the buttons. @param run carries out a button's command */
export function createHero(run: (command: Command) => void) {
  const widget = vertical(6);
  widget.valign = Gtk.Align.CENTER;
  widget.add_css_class('culvert-hero');
  const icon = new Gtk.Image({ pixel_size: 48, accessible_role: Gtk.AccessibleRole.PRESENTATION });
  const disc = new Gtk.Overlay({ halign: Gtk.Align.CENTER, margin_bottom: 6 });
  disc.child = new Adw.Bin({ child: icon, css_classes: ['culvert-disc'] });
  const state = centered(['title-1']);
  const sentence = centered(['culvert-sentence']);
  const clock = centered(['dim-label', 'numeric']);
  clock.natural_wrap_mode = Gtk.NaturalWrapMode.NONE;
  // the clock changes each second, and adds nothing to the state
  clock.accessible_role = Gtk.AccessibleRole.PRESENTATION;
  const proof = createProof();
  const line = new Gtk.Box({ spacing: 6, halign: Gtk.Align.CENTER, css_classes: ['culvert-clock'] });
  line.append(clock);
  line.append(proof.button);
  const toggle = pill();
  const countdown = createCountdown(toggle, run);
  disc.add_overlay(countdown.ring);
  const connect = pill(_('Connect'));
  const disconnect = pill(_('Disconnect'));
  const both = new Gtk.Box({ spacing: 12, halign: Gtk.Align.CENTER, margin_top: 12 });
  for (const button of [connect, disconnect]) both.append(button);
  const remedy = pill();
  const other = pill();
  const spinner = new Gtk.Spinner({ spinning: true });
  const waitingText = new Gtk.Label();
  const waiting = new Gtk.Box({
    spacing: 6,
    halign: Gtk.Align.CENTER,
    margin_top: 6,
    css_classes: ['culvert-waiting'],
  });
  waiting.append(spinner);
  waiting.append(waitingText);
  const { details, text, copy } = createDetails(() => hero.copied());
  for (const button of [remedy, toggle, other]) button.margin_top = 12;
  const above = [disc, state, sentence, line, proof.text, countdown.words];
  const below = [remedy, toggle, other, both, countdown.buttons, waiting, details];
  for (const child of [...above, ...below]) widget.append(child);
  const hero = {
    widget,
    clock,
    proof,
    countdown,
    toggle,
    connect,
    disconnect,
    remedy,
    other,
    copied: () => {},
    show(whole: View) {
      const view = whole.tunnel;
      countdown.show(whole);
      icon.icon_name = view.icon;
      for (const tone of TONES) {
        if (tone === view.tone) widget.add_css_class(`tone-${tone}`);
        else widget.remove_css_class(`tone-${tone}`);
      }
      state.label = view.label;
      sentence.label = view.sentence;
      const either = view.look === 'unknown' && view.settable;
      both.visible = either;
      toggle.visible = !either && view.look !== 'unavailable';
      toggle.label = view.toggle.label;
      toggle.sensitive = view.toggle.sensitive;
      toggle.css_classes = ['pill', ...(view.toggle.on || view.remedy ? [] : ['suggested-action'])];
      setName(toggle, view.toggle.label);
      setDescription(toggle, `${view.label}. ${view.sentence}`);
      remedy.visible = view.remedy !== null;
      labelButton(remedy, view.remedy?.label ?? '');
      remedy.css_classes = ['pill', 'suggested-action'];
      other.visible = view.other !== null;
      labelButton(other, view.other?.label ?? '');
      for (const part of [spinner, waitingText]) part.visible = view.waiting !== null;
      waitingText.label = view.waiting ?? '';
      details.visible = view.details !== null;
      text.label = view.details ?? '';
      setName(copy, _('Copy the technical details'));
    },
  };
  return hero;
}

/** Creates the text with the location that websites see, and the button that looks up the location. */
function createProof() {
  const text = centered(['culvert-proof']);
  text.visible = false;
  const button = new Gtk.Button({ css_classes: ['flat', 'culvert-check'], valign: Gtk.Align.CENTER, visible: false });
  return {
    text,
    button,
    show(view: ProofView | null) {
      button.visible = view !== null;
      text.visible = Boolean(view?.text);
      if (!view) {
        // the address is private, and its connection has ended
        text.label = '';
        return;
      }
      if (text.label !== (view.text ?? '')) {
        text.label = view.text ?? '';
        if (view.text) announce(button, view.text);
      }
      for (const tone of ['success', 'warning'] as const)
        if (tone === view.tone) text.add_css_class(tone);
        else text.remove_css_class(tone);
      labelButton(button, view.button.label);
      button.sensitive = view.button.sensitive;
      setName(button, view.button.name);
    },
  };
}

/** Creates an expander with the tunnel CLI's own words, for search engines and support. */
function createDetails(copied: () => void) {
  const text = new Gtk.Label({
    wrap: true,
    wrap_mode: Pango.WrapMode.WORD_CHAR,
    selectable: true,
    can_focus: false,
    hexpand: true,
    xalign: 0,
    css_classes: ['caption', 'monospace'],
  });
  const copy = copyButton(_('Copy the technical details'), () => text.label, copied);
  const line = new Gtk.Box({ spacing: 6, margin_top: 6 });
  line.append(text);
  line.append(copy);
  const details = new Gtk.Expander({
    label: _('Technical details'),
    child: line,
    halign: Gtk.Align.CENTER,
    margin_top: 6,
  });
  setName(details, _('Technical details'));
  return { details, text, copy };
}

function centered(css_classes: string[]): Gtk.Label {
  return new Gtk.Label({ wrap: true, justify: Gtk.Justification.CENTER, max_width_chars: 40, css_classes });
}

function pill(label = ''): Gtk.Button {
  return new Gtk.Button({ label, halign: Gtk.Align.CENTER, css_classes: ['pill'] });
}

/**
 * Creates the countdown to the next end of a state: the ring, the words, the time left, and buttons that change the end.
 * @param toggle the main button, which takes the focus when the buttons disappear, and which ends a pause.
 */
function createCountdown(toggle: Gtk.Widget, run: (command: Command) => void) {
  const ring = new Ring();
  const text = new Gtk.Label({
    wrap: true,
    natural_wrap_mode: Gtk.NaturalWrapMode.NONE,
    justify: Gtk.Justification.CENTER,
  });
  // the time left changes each second, and adds nothing to the text
  const left = new Gtk.Label({
    css_classes: ['dim-label', 'numeric'],
    accessible_role: Gtk.AccessibleRole.PRESENTATION,
  });
  const words = new Gtk.Box({ spacing: 12, halign: Gtk.Align.CENTER, visible: false });
  words.append(text);
  words.append(left);
  const end = new Gtk.Button();
  const extend = new Gtk.Button();
  const buttons = new Gtk.Box({ spacing: 12, halign: Gtk.Align.CENTER, margin_top: 6, visible: false });
  for (const button of [end, extend]) buttons.append(button);
  let shown: Countdown | null = null;
  let span: Span | null = null;
  end.connect('clicked', () => shown && run(shown.end.command));
  extend.connect('clicked', () => shown?.extend && run(shown.extend.command));

  const tick = () => {
    const now = Date.now();
    ring.plot(span, now);
    if (shown) left.label = timeLeftText(shown.span, now, tr);
  };
  return {
    ring,
    words,
    buttons,
    tick,
    /** Shows the next end of a state, or only the ring for an unconfirmed change: the window's bar has its words. */
    show({ client, unconfirmed }: View): Countdown | null {
      shown = describeCountdown(client, tr);
      span = shown?.span ?? unconfirmed;
      if (!shown && (buttons.root as Gtk.Window | null)?.get_focus()?.is_ancestor(buttons)) toggle.grab_focus();
      for (const box of [words, buttons]) box.visible = shown !== null;
      if (shown) {
        text.label = shown.isSaid ? '' : shown.text;
        text.visible = !shown.isSaid;
        end.visible = !shown.pause;
        labelButton(end, shown.end.label);
        setDescription(end, shown.text);
        extend.visible = shown.extend !== null;
        labelButton(extend, shown.extend?.label ?? '');
        setDescription(extend, shown.text);
      }
      tick();
      return shown;
    },
  };
}
