// Gathers the figures of the tunnel for the page's graphs.
import { signal } from '@preact/signals';
import { createHistory, type Sample } from '../../view/client/history.ts';
import type { Model } from '../../view/client/model.ts';
import type { App } from './app.ts';

/** @returns the figures of this connection; a new connection starts over. */
export function followFigures(model: Model): App['samples'] {
  const history = createHistory();
  const samples = signal<Sample[]>([]);
  const add = () => {
    const tunnel = model.state().snapshot?.tunnel;
    if (tunnel) history.add(tunnel);
    samples.value = history.samples();
  };
  model.onEvent(({ event, data }) => {
    if (event === 'status' && data.state !== 'connected') history.clear();
    if (event === 'tunnel' || event === 'snapshot' || event === 'status') add();
  });
  return samples;
}
