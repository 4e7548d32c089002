// Asks for the mode in a dialog with three cards, each chosen by one click, and a button for all modes.
import Gtk from 'gi://Gtk?version=4.0';
import { describeModeChoice, type ModeCard } from '../../../daemon/view/forms/tunnel/choose-mode.ts';
import { _, tr } from '../../i18n.ts';
import type { WindowHost } from '../host.ts';
import { setDescription, setName } from './accessible.ts';
import { vertical } from './columns.ts';
import { ask } from './compat.ts';

/** Shows the dialog; resolves when it is closed and the choice is carried out. */
export async function chooseMode(host: WindowHost): Promise<void> {
  const { heading, cards: first, more } = describeModeChoice(host.view(), tr);
  const remark = textLabel();
  const box = vertical(12);
  box.append(remark);
  const cards = first.map(({ mode }) => createCard(() => choose(mode)));
  const group = new Gtk.Box({
    orientation: Gtk.Orientation.VERTICAL,
    spacing: 12,
    accessible_role: Gtk.AccessibleRole.RADIO_GROUP,
  });
  setName(group, heading);
  for (const { widget } of cards) group.append(widget);
  box.append(group);
  const show = () => {
    const choice = describeModeChoice(host.view(), tr);
    remark.label = choice.remark ?? '';
    remark.visible = choice.remark !== null;
    for (const [i, card] of choice.cards.entries()) cards[i]!.show(card, choice);
  };
  show();
  let close = () => {};
  let chosen: string | null = null;
  const choose = (mode: string) => {
    chosen = mode;
    close();
  };
  const unsubscribe = host.model.subscribe(show);
  const answer = await ask(host.window, {
    heading,
    body: '',
    extra: box,
    responses: [
      ['cancel', _('Cancel')],
      ['more', more],
    ],
    focus: cards[first.findIndex(({ active }) => active)]?.widget ?? null,
    opened(closing) {
      close = closing;
    },
  });
  unsubscribe();
  if (answer === 'more') host.goTo('mode');
  // reads the card again, since the command's question depends on the current state
  const card = describeModeChoice(host.view(), tr).cards.find(({ mode }) => mode === chosen);
  if (card && !card.active) await host.run(card.command);
}

function createCard(choose: () => void) {
  const title = textLabel(['heading']);
  const meaning = textLabel(['dim-label']);
  const words = vertical(3);
  words.hexpand = true;
  words.append(title);
  words.append(meaning);
  // screen readers read the button's state instead
  const tick = new Gtk.Image({
    icon_name: 'object-select-symbolic',
    accessible_role: Gtk.AccessibleRole.PRESENTATION,
    valign: Gtk.Align.CENTER,
  });
  const line = new Gtk.Box({ spacing: 12 });
  line.append(words);
  line.append(tick);
  const widget = new Gtk.Button({ child: line, accessible_role: Gtk.AccessibleRole.RADIO });
  widget.connect('clicked', choose);
  return {
    widget,
    show(card: ModeCard, { sensitive, remark }: { sensitive: boolean; remark: string | null }) {
      title.label = card.title;
      meaning.label = card.meaning;
      tick.opacity = Number(card.active); // keeps its space
      widget.sensitive = sensitive || card.active;
      widget.css_classes = ['card', 'culvert-mode', ...(card.active ? ['active'] : [])];
      setName(widget, card.title);
      setDescription(widget, [card.meaning, widget.sensitive ? null : remark].filter(Boolean).join(' '));
      widget.update_state([Gtk.AccessibleState.CHECKED], [Number(card.active)]);
    },
  };
}

function textLabel(css_classes: string[] = []): Gtk.Label {
  return new Gtk.Label({ xalign: 0, wrap: true, css_classes });
}
