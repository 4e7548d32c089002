// Keeps the figures of the last minutes, for the graphs: the daemon sends the present ones only.
import { createHistory, type Sample } from '../../daemon/view/client/history.ts';
import type { Model } from '../../daemon/view/client/model.ts';

export interface History {
  samples(): Sample[];
  close(): void;
}

/** Gathers what the model brings, until closed. Made before what shows it subscribes, so that it is first. */
export function gatherHistory(model: Model): History {
  const history = createHistory();
  const gather = () => {
    const { snapshot } = model.state();
    if (snapshot?.status.state === 'connected') history.add(snapshot.tunnel);
    else history.clear();
  };
  gather();
  return { samples: () => history.samples(), close: model.subscribe(gather) };
}
