// Implements `mcp install` and `mcp uninstall`: puts `culvert-wrap mcp` in front of the servers of MCP clients, or takes it out.
import { isatty } from 'node:tty';
import { loadCatalog } from '../catalog/catalog.ts';
import type { Context } from '../context.ts';
import { applyChange, type FileChange, planChanges } from '../mcp/clients.ts';
import { findOnPath } from '../store/installs.ts';
import { NAME } from '../store/paths.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { emit } from './print.ts';
import { confirm } from './prompt.ts';

export interface ClientOptions {
  json?: boolean;
  yes?: boolean;
}

/**
 * Shows what would change in the configuration of the clients, and changes it after a yes.
 * @throws WrapError `not-on-path`
 */
export async function changeClients(put: boolean, options: ClientOptions, context: Context): Promise<void> {
  const program = findOnPath(NAME, context.env.PATH ?? '');
  if (put && !program) {
    throw new WrapError('not-on-path', EXIT.noInput, `${NAME} is not on PATH, so clients could not start it`, {
      hint: 'install Culvert, or add its directory to PATH',
    });
  }
  const catalog = loadCatalog(context.catalog, context.paths.userCatalog);
  const changes = planChanges(put ? program : undefined, catalog, context);
  const possible = changes.filter(({ text }) => text !== undefined);
  if (!options.json) process.stdout.write(describe(changes, put));
  const isWanted =
    options.yes || (possible.length > 0 && isatty(0) && isatty(2) && (await confirm('Change it? [y/N] ')));
  if (isWanted) for (const change of possible) applyChange(change);
  const files = changes.map(({ client, file, servers, text }) => ({
    client,
    file,
    servers: servers.map(({ keys: _, ...server }) => server),
    changed: isWanted === true && text !== undefined,
  }));
  if (options.json) emit(true, { files }, '');
  else if (possible.length > 0)
    say(isWanted ? 'changed; restart the clients' : 'nothing was changed; --yes changes it');
}

/** The differences, as lines of a diff. */
function describe(changes: readonly FileChange[], put: boolean): string {
  if (changes.length === 0)
    return `No client starts a server ${put ? 'of the catalog by itself' : 'through culvert-wrap'}.\n`;
  return changes
    .map(({ file, servers, text }) => {
      const lines = servers.flatMap(({ server, before, after, keys }) => [
        `  ${server}`,
        `- ${JSON.stringify(before)}`,
        `+ ${JSON.stringify(after)}`,
        ...(put && keys.length > 0
          ? [`  Its ${keys.join(', ')} is not used anymore: add it as an account, then delete it there.`]
          : []),
      ]);
      const note = text === undefined ? '  It has a layout of its own: change it by hand.\n' : '';
      return `${file}\n${lines.join('\n')}\n${note}`;
    })
    .join('\n');
}
