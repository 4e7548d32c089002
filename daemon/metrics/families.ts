// Defines the names of all metrics of the daemon in one table. They follow Prometheus' rules: base units, `_total` for
// counters.
import { type Families, WRAP_FAMILIES } from '../../wrapper/store/metrics/families.ts';

const plain = (type: 'gauge' | 'counter', help: string) => ({ type, help, labels: [] });

export const FAMILIES = {
  culvert_warp_build_info: {
    type: 'gauge',
    help: '1; the labels say which Culvert this is.',
    labels: ['version', 'commit', 'format'],
  },
  culvert_warp_info: {
    type: 'gauge',
    help: '1; the labels say which tunnel client is installed. Missing where none is.',
    labels: ['version', 'emulated'],
  },
  process_start_time_seconds: plain('gauge', 'When the daemon started.'),
  process_resident_memory_bytes: plain('gauge', 'Memory of the daemon.'),
  culvert_warp_tunnel_state: {
    type: 'gauge',
    help: '1 for the state that the tunnel is in, 0 for the others. A state that could not be read again is unknown.',
    labels: ['state'],
  },
  culvert_warp_tunnel_state_changes_total: {
    type: 'counter',
    help: "Changes of the tunnel's state, by the reason that the tunnel client gave.",
    labels: ['reason'],
  },
  culvert_warp_tunnel_connection_attempts_total: plain('counter', 'How often the tunnel began to connect.'),
  culvert_warp_tunnel_connected_seconds_total: plain('counter', 'For how long the tunnel was connected.'),
  culvert_warp_tunnel_receive_bytes_total: plain(
    'counter',
    'Bytes received through the tunnel, over all its connections.',
  ),
  culvert_warp_tunnel_transmit_bytes_total: plain(
    'counter',
    'Bytes sent through the tunnel, over all its connections.',
  ),
  culvert_warp_tunnel_latency_seconds: plain('gauge', 'Latency of the tunnel, estimated by the tunnel client.'),
  culvert_warp_tunnel_loss_ratio: plain('gauge', 'Share of packets that were lost, estimated by the tunnel client.'),
  culvert_warp_tunnel_handshake_age_seconds: plain('gauge', 'Since the last handshake of the tunnel.'),
  culvert_warp_tunnel_figures_timestamp_seconds: plain('gauge', 'When bytes, latency and loss were read.'),
  culvert_warp_killswitch_wanted: plain('gauge', '1 where the kill switch is turned on, also during a pause.'),
  culvert_warp_killswitch_engaged: plain('gauge', '1 while it blocks, measured; missing where that is not known.'),
  culvert_warp_killswitch_paused: plain('gauge', '1 during a pause.'),
  culvert_warp_killswitch_mended_total: plain(
    'counter',
    'Reports of rules that another program had changed and that were put back. Repairs at once are one report.',
  ),
  culvert_warp_health_findings: {
    type: 'gauge',
    help: '1 for the verdict of the last run of a check; checks that were not run yet are missing.',
    labels: ['id', 'verdict'],
  },
  culvert_warp_health_checked_timestamp_seconds: plain('gauge', 'When a check was run last.'),
  culvert_warp_health_diagnosis: {
    type: 'gauge',
    help: '1 for the check that found why the tunnel fails.',
    labels: ['id'],
  },
  culvert_warp_cli_calls_total: {
    type: 'counter',
    help: 'Runs of the tunnel CLI, by its first word and by how they ended.',
    labels: ['command', 'outcome'],
  },
  culvert_warp_api_requests_total: {
    type: 'counter',
    help: 'Requests that were answered, by route of the contract and status. Event streams count when they end.',
    labels: ['route', 'code'],
  },
  culvert_warp_event_streams: plain('gauge', 'Event streams that are open.'),
  ...WRAP_FAMILIES,
} as const satisfies Families;

/** Durations have their own type, but belong here so that all names are in one place. */
export const CLI_DURATION = {
  name: 'culvert_warp_cli_duration_seconds',
  help: 'How long runs of the tunnel CLI took.',
  /** In seconds. The daemon ends an action after 60 s at most. */
  buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
};
