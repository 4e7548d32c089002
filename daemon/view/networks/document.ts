// Sends changes of the rules for networks, as changes of their document.

import type { Client } from '../../api/client.ts';
import type { NetworksChange } from '../form.ts';

/** @throws ApiError, Unreachable */
export async function changeNetworks({ call }: Pick<Client, 'call'>, change: NetworksChange): Promise<void> {
  switch (change.do) {
    case 'answer':
      await call('POST /api/networks/answer', { body: { rule: change.rule, answer: change.answer } });
      return;
    case 'revert':
      await call('POST /api/networks/revert', { body: {} });
      return;
    case 'add':
    case 'remove': {
      const { document, revision } = await call('GET /api/networks');
      const text = change.do === 'add' ? withRule(document, change) : withoutRule(document, change.name);
      await call('POST /api/networks', { body: { document: text, ifRevision: revision } });
      if (change.do === 'add' && change.allow)
        await call('POST /api/networks/answer', { body: { rule: change.name, answer: 'always' } });
    }
  }
}

/** A document with one rule more. */
export function withRule(document: string, { name, lines }: { name: string; lines: readonly string[] }): string {
  const start = document === '' || document.endsWith('\n') ? document : `${document}\n`;
  return `${start}${start === '' ? '' : '\n'}[[network]]\nname = ${JSON.stringify(name)}\n${lines.join('\n')}\n`;
}

/** A document without a rule: its table goes with the comments in it. A name that is written otherwise stays. */
export function withoutRule(document: string, name: string): string {
  const parts = document.split(/^(?=[ \t]*\[\[[ \t]*network[ \t]*\]\])/m);
  const isNamed = (part: string) => {
    const [, double, single] = /^[ \t]*name[ \t]*=[ \t]*(?:("(?:[^"\\]|\\.)*")|'([^']*)')/m.exec(part) ?? [];
    return (double === undefined ? single : textOf(double)) === name;
  };
  return parts.filter((part, at) => (at === 0 && !/^[ \t]*\[\[/.test(part)) || !isNamed(part)).join('');
}

function textOf(quoted: string): string | undefined {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return undefined;
  }
}
