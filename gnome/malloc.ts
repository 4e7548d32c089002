// How the launcher has malloc and the engine work in tray and panel (daemon/launcher.ts). Other programs that they start do
// not inherit it.
import type Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';

const settings = GLib.listenv().flatMap(name => {
  const value = /^MALLOC_|^GJS_DISABLE_JIT$/.test(name) ? GLib.getenv(name) : null;
  return value === null ? [] : [[name, value] as const];
});
for (const [name] of settings) GLib.unsetenv(name);

/** Has the panel that the tray starts inherit it. */
export function passOnMalloc(launcher: Gio.SubprocessLauncher): void {
  for (const [name, value] of settings) launcher.setenv(name, value, true);
}
