// Renders the connection page: the state in one sentence, the main button, settings, and the tunnel's statistics.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Snapshot } from '../../api/schema.ts';
import type { Row } from '../../view/form.ts';
import { formatBytes, formatDuration, formatLatency, formatLoss } from '../../view/format.ts';
import { pauseRow } from '../../view/forms/connection.ts';
import { setupView } from '../../view/forms/setup.ts';
import { modeLink } from '../../view/forms/tunnel/choose-mode.ts';
import { placeDetail, placeName } from '../../view/places.ts';
import { killSwitchSummary } from '../../view/states/killswitch.ts';
import { describeProof } from '../../view/states/proof.ts';
import { timedRows } from '../../view/states/timed.ts';
import { durationText } from '../../view/states/tunnel.ts';
import { figuresOf } from '../../view/states/words.ts';
import type { Translator } from '../../view/translator.ts';
import { useApp } from '../app.ts';
import { LatencyChart } from '../widgets/chart.tsx';
import { CountdownButtons, CountdownWords, Ringed } from '../widgets/countdown.tsx';
import { Icon } from '../widgets/icon.tsx';
import { FormView } from '../widgets/rows/form.tsx';
import { CommandBox } from '../widgets/rows/text-rows.tsx';
import { CommandButton } from '../widgets/rows/words.tsx';

export function ConnectionPage() {
  const app = useApp();
  const { client, tunnel, killSwitch } = app.view.value;
  const tr = app.tr.value;
  const { _ } = tr;
  const { snapshot } = client;
  const more = useAfterPaint();
  if (tunnel.setup) return <Setup />;
  const rows: Row[] = [modeLink(tunnel, tr), killSwitchSummary(killSwitch, tr)];
  return (
    <>
      <Hero />
      <FormView
        form={{
          groups: [
            { id: 'timed', rows: timedRows(client, tr) },
            { id: 'now', rows },
          ],
        }}
      />
      {more && snapshot && (
        <>
          <LatencyChart figures={app.samples.value} />
          <FormView
            form={{
              groups: [
                { id: 'off', rows: [pauseRow(tunnel, app.host.run, tr)] },
                { id: 'details', title: _('Details'), rows: tunnel.live ? facts(snapshot, tr) : [] },
              ],
            }}
          />
        </>
      )}
    </>
  );
}

function Hero() {
  const app = useApp();
  const { client, tunnel } = app.view.value;
  const { _ } = app.tr.value;
  const { toggle, remedy, other, details, waiting } = tunnel;
  return (
    <section class={`hero tone-${tunnel.tone}`}>
      <Ringed>
        <Icon name={tunnel.icon} />
      </Ringed>
      <div role="status">
        <p class="state">{tunnel.label}</p>
        <p class="sentence" id="sentence">
          {tunnel.sentence}
        </p>
      </div>
      <Clock />
      <CountdownWords />
      <div class="buttons">
        {remedy && (
          <CommandButton command={remedy.command} sensitive={client.pending === null}>
            {remedy.label}
          </CommandButton>
        )}
        <CommandButton
          class={toggle.on ? undefined : 'suggested'}
          command={{ ask: { kind: 'action', request: { action: toggle.action ?? 'connect' } } }}
          sensitive={toggle.sensitive && toggle.action !== null}
          aria-busy={client.pending !== null}
          aria-describedby={
            !toggle.sensitive || toggle.action === null ? (tunnel.lock ? 'lock' : 'sentence') : undefined
          }
        >
          {toggle.label}
        </CommandButton>
        {other && (
          <CommandButton command={other.command} sensitive={client.pending === null}>
            {other.label}
          </CommandButton>
        )}
      </div>
      <CountdownButtons />
      <p class="subtitle waiting" role="status">
        {waiting}
      </p>
      {tunnel.lock && (
        <p class="subtitle" id="lock">
          {tunnel.lock}
        </p>
      )}
      {details && (
        <details>
          <summary>{_('Technical details')}</summary>
          <pre>{details}</pre>
        </details>
      )}
    </section>
  );
}

/** Returns true after the state was painted. Formatted numbers wait: the first formatter takes 20 ms or more to create. */
function useAfterPaint(): boolean {
  const after = useSignal(false);
  useEffect(() => {
    const show = () => {
      after.value = true;
    };
    // the first frame paints the state, and the second one follows its painting
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(show)));
  }, []);
  return after.value;
}

/** Shows the state's duration and the location that websites see, with a button that checks the location. */
function Clock() {
  const { view, tr, now } = useApp();
  const proof = describeProof(view.value.client, now.value, tr.value);
  return (
    <>
      <div class="clock">
        <Duration />
        {proof && (
          <CommandButton
            class="small"
            command={proof.button.command}
            sensitive={proof.button.sensitive}
            aria-label={proof.button.name}
          >
            {proof.button.label}
          </CommandButton>
        )}
      </div>
      <p role="status" class={`proof tone-${proof?.tone}`}>
        {proof?.text}
      </p>
    </>
  );
}

/** Shows the state's duration; a separate component, since it updates each second. */
function Duration() {
  const { view, tr, now } = useApp();
  const { client, tunnel } = view.value;
  const since = client.snapshot && !client.offline ? client.snapshot.status.since : null;
  if (since === null) return null;
  const text = durationText(tunnel, since, now.value, tr.value);
  const code = tunnel.live ? client.snapshot?.tunnel.colo : null;
  return text && <p class="duration">{[text, code && placeName(code)].filter(Boolean).join(' · ')}</p>;
}

function facts(snapshot: Snapshot, tr: Translator): Row[] {
  const { tunnel, account, tunnelCli } = snapshot;
  const { _ } = tr;
  const fact = (id: string, title: string, value: string | null, copy = false): Row[] =>
    value === null ? [] : [{ kind: 'fact', id, title, value, copy }];
  const { bytesReceived, bytesSent, handshakeAgeSeconds } = tunnel;
  const { latencyMs, loss } = figuresOf(snapshot);
  return [
    ...fact('protocol', _('Protocol'), tunnel.protocol),
    ...tunnel.endpoints.flatMap((endpoint, i) => fact(`endpoint-${i}`, _('Server'), endpoint, true)),
    ...fact('colo', _('Data center'), tunnel.colo && placeDetail(tunnel.colo)),
    ...fact('latency', _('Latency'), latencyMs === null ? null : formatLatency(latencyMs, tr)),
    ...fact('loss', _('Packet loss'), loss === null ? null : formatLoss(loss, tr)),
    ...fact('received', _('Received'), bytesReceived === null ? null : formatBytes(bytesReceived, tr)),
    ...fact('sent', _('Sent'), bytesSent === null ? null : formatBytes(bytesSent, tr)),
    ...fact(
      'handshake',
      _('Last handshake'),
      handshakeAgeSeconds === null ? null : formatDuration(handshakeAgeSeconds, tr),
    ),
    ...fact('plan', _('Plan'), account.type),
    ...fact('warp', _('WARP version'), tunnelCli.version),
  ];
}

/** Shows the setup steps that are missing before WARP can connect. */
export function Setup() {
  const app = useApp();
  const { client, tunnel } = app.view.value;
  const { title, description, buttons, links, commands } = setupView(
    tunnel.setup!,
    app.tr.value,
    tunnel.lost,
    client.snapshot?.tunnelCli,
  );
  return (
    <section class="hero tone-warning">
      <Icon name={tunnel.icon} />
      <div role="status">
        <p class="state">{title}</p>
        <p>{description}</p>
      </div>
      {links.map(({ label, uri }) => (
        <a key={uri} href={uri} target="_blank" rel="noopener noreferrer">
          {label}
        </a>
      ))}
      <div class="buttons">
        {buttons.map(({ label, command }, i) => (
          <CommandButton
            key={label}
            class={i === 0 ? 'suggested' : undefined}
            command={command}
            sensitive={client.pending === null}
          >
            {label}
          </CommandButton>
        ))}
      </div>
      {commands.map(({ purpose, command }) => (
        <CommandBox key={command} title={purpose} command={command} />
      ))}
    </section>
  );
}
