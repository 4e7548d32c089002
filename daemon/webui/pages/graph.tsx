// Renders the figures of the last minutes as curves and tables: latency, packet loss, throughput.
import { FINEST } from '../../view/client/history.ts';
import { formatLatency, formatLoss, formatRate } from '../../view/format.ts';
import { useApp } from '../client/app.ts';
import { Chart } from '../widgets/chart.tsx';

export function LiveCharts() {
  const { samples, tr } = useApp();
  const { _ } = tr.value;
  const times = samples.value.map(({ at }) => at);
  const lines = {
    loss: [{ name: _('Packet loss'), values: samples.value.map(({ loss }) => loss) }],
    throughput: [
      { name: _('Received'), values: samples.value.map(({ received }) => received) },
      { name: _('Sent'), values: samples.value.map(({ sent }) => sent) },
    ],
  };
  return (
    <>
      <LatencyChart />
      <Chart
        title={_('Packet loss')}
        times={times}
        lines={lines.loss}
        format={value => formatLoss(value, tr.value)}
        finest={FINEST.loss}
      />
      <Chart
        title={_('Speed: received (solid), sent (dashed)')}
        times={times}
        lines={lines.throughput}
        format={value => formatRate(value, tr.value)}
        finest={FINEST.rate}
      />
    </>
  );
}

export function LatencyChart() {
  const { samples, tr } = useApp();
  const { _ } = tr.value;
  const values = samples.value.map(({ latencyMs }) => latencyMs);
  return (
    <Chart
      title={_('Latency')}
      times={samples.value.map(({ at }) => at)}
      lines={[{ name: _('Latency'), values }]}
      format={value => formatLatency(value, tr.value)}
      finest={FINEST.latencyMs}
    />
  );
}
