// Takes the launcher's settings of malloc and of the JavaScript engine (daemon/launcher.ts) out of the environment, so that
// other programs that tray and panel start do not inherit them.
import type Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';

const settings = GLib.listenv().flatMap(name => {
  const value = /^MALLOC_|^GJS_DISABLE_JIT$/.test(name) ? GLib.getenv(name) : null;
  return value === null ? [] : [[name, value] as const];
});
for (const [name] of settings) GLib.unsetenv(name);

/** Lets the panel that the tray starts inherit them. */
export function passOnMemorySettings(launcher: Gio.SubprocessLauncher): void {
  for (const [name, value] of settings) launcher.setenv(name, value, true);
}
