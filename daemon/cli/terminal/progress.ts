// Shows on stderr what is being waited for: a moving line on a terminal, one line for each phase elsewhere.

import { createStyle, wantsColor } from '../../core/terminal.ts';
import type { Context } from '../context.ts';

export interface Progress {
  /** The phase that has begun; the same one again is not repeated. */
  step(text: string): void;
  /** Leaves the terminal clean. */
  end(): void;
}

const FRAMES = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'];
const CLEAR = '\r\x1b[2K';

export function createProgress({ stderr, env, json, say }: Context): Progress {
  let phase = '';
  if (!stderr.isTTY || json || env.TERM === 'dumb') {
    return {
      step(text) {
        if (text !== phase) say(text);
        phase = text;
      },
      end() {},
    };
  }
  const style = createStyle(wantsColor(stderr, env));
  let frame = 0;
  const draw = () => {
    if (!phase) return;
    const room = Math.max(10, (stderr.columns || 80) - 3);
    stderr.write(`${CLEAR}${style.cyan(FRAMES[frame++ % FRAMES.length]!)} ${phase.slice(0, room)}`);
  };
  const timer = setInterval(draw, 100);
  return {
    step(text) {
      phase = text;
      draw();
    },
    end() {
      clearInterval(timer);
      if (phase) stderr.write(CLEAR);
    },
  };
}
