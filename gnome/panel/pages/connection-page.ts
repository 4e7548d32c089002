// Builds the connection page: the state with one button, mode and kill switch, the latency graph, and details in an expander.
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Row } from '../../../daemon/view/form.ts';
import { formatBytes, formatDate, formatLatency, formatLoss } from '../../../daemon/view/format.ts';
import { pauseRow } from '../../../daemon/view/forms/connection.ts';
import { modeLink } from '../../../daemon/view/forms/tunnel/choose-mode.ts';
import { NOW, rangeOf } from '../../../daemon/view/graph.ts';
import { pageTitle } from '../../../daemon/view/page-list.ts';
import { placeDetail, placeName } from '../../../daemon/view/places.ts';
import { killSwitchSummary } from '../../../daemon/view/states/killswitch.ts';
import { describeProof } from '../../../daemon/view/states/proof.ts';
import { timedRows } from '../../../daemon/view/states/timed.ts';
import { durationText, type TunnelView } from '../../../daemon/view/states/tunnel.ts';
import { figuresOf } from '../../../daemon/view/states/words.ts';
import { fill } from '../../../daemon/view/translator.ts';
import type { View } from '../../../daemon/view/view.ts';
import { _, tr } from '../../i18n.ts';
import type { PageWidget, WindowHost } from '../host.ts';
import { setName, turnTo } from '../widgets/accessible.ts';
import { Columns, vertical } from '../widgets/columns.ts';
import { announce } from '../widgets/compat.ts';
import { Graph } from '../widgets/graph.ts';
import { FormGroups } from '../widgets/rows/form-groups.ts';
import { createHero } from './hero.ts';
import { SetupPage } from './setup-page.ts';

export class ConnectionPage extends Adw.Bin implements PageWidget {
  static {
    GObject.registerClass({ GTypeName: 'CulvertConnectionPage' }, ConnectionPage);
  }
  readonly #host: WindowHost;
  readonly #hero = createHero(command => void this.#host.run(command));
  readonly #graph = new Graph();
  readonly #figures: ReturnType<typeof createFigures>;
  readonly #groups: FormGroups;
  readonly #off: FormGroups;
  readonly #facts: FormGroups;
  readonly #expander = new Gtk.Expander({ label: _('Connection details'), visible: false });
  readonly #stack = new Gtk.Stack();
  #setup: SetupPage | null = null;
  #view: View | null = null;

  constructor(host: WindowHost) {
    super();
    this.#host = host;
    const settings = vertical(18);
    const off = vertical(18);
    const folded = vertical(18);
    this.#groups = new FormGroups(host, ...into(settings));
    this.#off = new FormGroups(host, ...into(off));
    this.#facts = new FormGroups(host, ...into(folded));
    for (const groups of [this.#groups, this.#off, this.#facts]) groups.name = pageTitle('connection', tr);
    this.#figures = createFigures(this.#graph, () => host.goTo('history', NOW));
    setName(this.#expander, _('Connection details'));
    this.#expander.child = folded;
    folded.margin_top = 12;
    const details = vertical(18);
    details.valign = Gtk.Align.START;
    for (const child of [settings, this.#figures.widget, off, this.#expander]) details.append(child);
    const columns = new Gtk.Box({ layout_manager: new Columns() });
    columns.append(this.#hero.widget);
    columns.append(details);
    this.#stack.add_named(scrolled(columns), 'connection');
    this.child = this.#stack;
    this.#hero.toggle.connect('clicked', () => {
      const action = this.#view?.tunnel.toggle.action;
      if (action) void host.run({ ask: { kind: 'action', request: { action } } });
    });
    for (const action of ['connect', 'disconnect'] as const)
      this.#hero[action].connect('clicked', () => void host.run({ ask: { kind: 'action', request: { action } } }));
    for (const way of ['remedy', 'other'] as const)
      this.#hero[way].connect('clicked', () => {
        const button = this.#view?.tunnel[way];
        if (button) void host.run(button.command);
      });
    this.#hero.proof.button.connect('clicked', () => {
      const proof = this.#view && describeProof(this.#view.client, Date.now(), tr);
      if (proof) void host.run(proof.button.command);
    });
    this.#hero.copied = () => host.toast(_('Copied'));
  }

  /** Control that gets the initial focus. */
  get first(): Gtk.Widget {
    return this.#hero.toggle;
  }

  get inert(): boolean {
    return this.#groups.inert || this.#off.inert;
  }

  refresh(view: View): void {
    const before = this.#view?.tunnel;
    this.#view = view;
    const { tunnel } = view;
    if (tunnel.setup) this.#setupPage().refresh(view);
    turnTo(this.#stack, tunnel.setup ? 'setup' : 'connection', pageTitle('connection', tr));
    this.#hero.show(view);
    if (before && before.label !== tunnel.label) announce(this.#hero.toggle, `${tunnel.label}. ${tunnel.sentence}`);
    const hasState = view.client.snapshot !== null;
    this.#groups.show({
      groups: [
        { id: 'timed', rows: timedRows(view.client, tr) },
        { id: 'main', rows: hasState ? this.#rows(view) : [] },
      ],
    });
    this.#off.show({
      groups: [{ id: 'off', rows: [pauseRow(tunnel, command => this.#host.run(command), tr)] }],
    });
    this.#showTunnel(view);
    this.tick();
  }

  /** Updates clocks and countdowns. */
  tick(): void {
    const { tunnel, client } = this.#view ?? {};
    const since = client?.snapshot?.status.since;
    const lasts = tunnel && since && tunnel.look !== 'unavailable';
    const text = lasts ? durationText(tunnel, since, Date.now(), tr) : null;
    const code = tunnel?.live ? client?.snapshot?.tunnel.colo : null;
    this.#hero.clock.label = [text, code && placeName(code)].filter(Boolean).join(' · ');
    this.#hero.clock.visible = Boolean(text);
    this.#hero.proof.show(client ? describeProof(client, Date.now(), tr) : null);
    this.#hero.countdown.tick();
    if (since) this.#hero.clock.tooltip_text = fill(_('Since %s'), formatDate(since, tr));
  }

  #rows({ tunnel, killSwitch }: View): Row[] {
    return [
      { ...modeLink(tunnel, tr), subtitle: tunnel.lock },
      killSwitchSummary(killSwitch, tr),
      ...(killSwitch.pausedUntil === null && killSwitch.tone !== 'error' && !killSwitch.on
        ? []
        : [
            {
              kind: 'link',
              id: 'killswitch-more',
              title: _('Kill Switch options'),
              page: 'killswitch',
            } as const,
          ]),
    ];
  }

  #showTunnel({ tunnel, client, proxy }: View): void {
    const facts = client.snapshot?.tunnel;
    const live = tunnel.live && facts !== undefined;
    const { latencyMs: latency, loss } = live ? figuresOf(client.snapshot!) : { latencyMs: null, loss: null };
    this.#figures.widget.visible = facts !== undefined;
    if (latency === null || !live) {
      // the graph keeps its place, so that nothing below moves when the first values arrive
      for (const label of [this.#figures.latency, this.#figures.loss]) label.label = '–';
      this.#graph.plot([]);
      setName(this.#graph, _('No statistics yet.'));
    } else {
      const samples = this.#host.figures();
      this.#graph.plot(samples.map(({ latencyMs }) => latencyMs));
      const range = rangeOf(samples.map(({ latencyMs }) => latencyMs));
      this.#figures.latency.label = formatLatency(latency, tr);
      this.#figures.loss.label = loss === null ? '–' : formatLoss(loss, tr);
      if (range) {
        const [least, greatest, mean] = [range.least, range.greatest, range.mean].map(ms => formatLatency(ms, tr));
        // Translators: for screen readers; each %s is a latency such as 12 ms
        setName(this.#graph, fill(_('Latency over time: from %s to %s, %s on average'), least!, greatest!, mean!));
      }
    }
    const rows = live ? factRows(tunnel, facts, proxy.address) : [];
    this.#expander.visible = rows.length > 0;
    this.#facts.show({ groups: [{ id: 'facts', rows }] });
  }

  /** Builds the setup page when it is first needed, which is rare. */
  #setupPage(): SetupPage {
    if (this.#setup) return this.#setup;
    this.#setup = new SetupPage(this.#host);
    this.#stack.add_named(this.#setup, 'setup');
    return this.#setup;
  }
}

function factRows(
  tunnel: TunnelView,
  facts: NonNullable<View['client']['snapshot']>['tunnel'],
  proxy: string | null,
): Row[] {
  const fact = (id: string, title: string, value: string | null, copy = false): Row[] =>
    value ? [{ kind: 'fact', id, title, value, copy }] : [];
  const server = facts.endpoints.filter(address => !/^(::|0\.0\.0\.0)$/.test(address)).join('\n');
  return [
    ...fact('protocol', _('Protocol'), tunnel.protocol ?? facts.protocol),
    ...fact('server', _('Server'), server),
    ...fact('colo', _('Data center'), facts.colo && placeDetail(facts.colo)),
    ...fact('proxy', _('Proxy for other apps'), proxy, true),
    ...fact('received', _('Received'), facts.bytesReceived === null ? null : formatBytes(facts.bytesReceived, tr)),
    ...fact('sent', _('Sent'), facts.bytesSent === null ? null : formatBytes(facts.bytesSent, tr)),
  ];
}

/** The graph with its two values; a click opens the history at the present time. */
function createFigures(graph: Graph, open: () => void) {
  const figure = (title: string, end: boolean) => {
    const box = vertical(0);
    box.hexpand = !end;
    const xalign = end ? 1 : 0;
    const value = new Gtk.Label({ xalign, css_classes: ['title-3', 'numeric'] });
    box.append(new Gtk.Label({ label: title, xalign, css_classes: ['caption', 'dim-label'] }));
    box.append(value);
    return { box, value };
  };
  const latency = figure(_('Latency'), false);
  const loss = figure(_('Packet loss'), true);
  const line = new Gtk.Box({ spacing: 12, css_classes: ['culvert-figures'] });
  line.append(latency.box);
  line.append(loss.box);
  graph.height_request = 56;
  const box = vertical(0);
  box.append(line);
  box.append(graph);
  const widget = new Gtk.Button({ child: box, css_classes: ['card', 'culvert-latency'] });
  setName(widget, _('Open the history'));
  widget.connect('clicked', open);
  return { widget, latency: latency.value, loss: loss.value };
}

function into(box: Gtk.Box): [(group: Gtk.Widget) => void, (group: Gtk.Widget) => void] {
  return [group => box.append(group), group => box.remove(group)];
}

function scrolled(child: Gtk.Widget): Gtk.Widget {
  const clamp = new Adw.Clamp({ maximum_size: 980, tightening_threshold: 720, child });
  for (const side of ['margin_top', 'margin_bottom'] as const) clamp[side] = 18;
  for (const side of ['margin_start', 'margin_end'] as const) clamp[side] = 12;
  return new Gtk.ScrolledWindow({ hscrollbar_policy: Gtk.PolicyType.NEVER, child: clamp });
}
