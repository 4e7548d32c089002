// Notifies the desktop of what a command would print on a terminal, for commands that a menu entry started.
import { execFile } from 'node:child_process';
import { printable } from '../../core/printable.ts';
import { APP_ID } from '../../system/installation.ts';
import type { Context } from '../context.ts';

const LIMIT_MS = 3000;

/** Shows a notification where nothing is a terminal and a desktop is there. Never rejects. */
export async function announce(context: Context, title: string, text: string) {
  const { env } = context;
  if (!isDesktopOnly(context)) return;
  // the body is markup
  const [summary, body] = [printable(title), printable(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;')];
  const sent = await succeeds(
    'notify-send',
    ['--app-name=Culvert', '--icon=org.culvert.Culvert', '--', summary, body],
    env,
  );
  if (sent) return;
  // The Desktop Notifications Specification, section 9: app, id to replace, icon, summary, body, actions, hints, time
  const bus = ['call', '--session', '--dest', 'org.freedesktop.Notifications'];
  const call = ['--object-path', '/org/freedesktop/Notifications', '--method', 'org.freedesktop.Notifications.Notify'];
  const words = ['Culvert', '0', 'org.culvert.Culvert', summary, body, '[]', '{}', '-1'];
  await succeeds(
    'gdbus',
    [...bus, ...call, '--', ...words.map((word, at) => (at > 2 && at < 5 ? gvariant(word) : word))],
    env,
  );
}

/** Opens a page of the window, under the same conditions. Never rejects. */
export async function openPage(context: Context, page: string) {
  if (isDesktopOnly(context)) await succeeds('gapplication', ['action', APP_ID, page], context.env);
}

function isDesktopOnly({ stdin, stdout, stderr, env, json }: Context): boolean {
  if (json || stdin.isTTY || stdout.isTTY || stderr.isTTY) return false;
  return Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
}

function succeeds(file: string, args: string[], env: NodeJS.ProcessEnv): Promise<boolean> {
  return new Promise(resolve => {
    execFile(file, args, { env, timeout: LIMIT_MS }, error => resolve(!error));
  });
}

/** A string in GVariant's text format. */
const gvariant = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
