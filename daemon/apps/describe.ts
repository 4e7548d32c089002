// Describes a desktop entry for the API, and decides how its app can use the proxy.
import type { App } from '../api/schema.ts';
import type { Message } from '../api/values.ts';
import { findProgram } from '../core/run-helper.ts';
import { message, WordedError, wordMessage } from '../view/message.ts';
import { english, N_ } from '../view/translator.ts';
import { type Entry, expandFields, flag, list, localized, locateProgram, splitExec, text } from './desktop-entry.ts';
import { gioResolver, isElectron, takesPreload } from './inspect-binary.ts';

/** Key in Culvert's shortcuts that stores the id of the app. */
export const SHORTCUT_KEY = 'X-Culvert-App';
/** Key in Culvert's shortcuts that stores the path of the app's desktop file. */
export const ORIGINAL_KEY = 'X-Culvert-Original';

interface Session {
  env: NodeJS.ProcessEnv;
  /** The result of `localeKeys`. */
  locales: readonly string[];
}

/** An app in the menu. `listed` adds its shortcuts. */
export type Described = Omit<App, 'shortcut' | 'tunnelShortcut' | 'outsideShortcut'> & { family: Family | null };

/**
 * `shown`: in the menu. `shortcut`: made by Culvert, with the id of its app. `hidden`: everything else.
 * `missing`: installing a missing program would change the result.
 */
export type Kind =
  | { kind: 'shown'; app: Described; missing: boolean }
  | { kind: 'shortcut'; of: string; path: string }
  | { kind: 'hidden'; missing: boolean };

/** Returns a function that describes entries. It caches facts about programs, so each scan needs a new function. */
export function createDescriber({ env, locales }: Session): (entry: Entry | null, id: string, path: string) => Kind {
  const desktops = (env.XDG_CURRENT_DESKTOP ?? '').split(':').filter(Boolean);
  const path = env.PATH ?? '';
  const present = memo((program: string) => findProgram(program, path));
  const preloads = memo((program: string) => takesPreload(program));
  const electron = memo((program: string) => isElectron(program));
  let chains: boolean | undefined;
  let resolver: string | null | undefined;

  return (entry, id, file) => {
    if (entry?.get('Type') !== 'Application') return HIDDEN;
    const of = text(entry, SHORTCUT_KEY);
    if (of !== null) return { kind: 'shortcut', of, path: file };
    if (flag(entry, 'Hidden') || flag(entry, 'NoDisplay') || id.startsWith('org.culvert.Culvert')) return HIDDEN;
    if (!shownOn(desktops, entry)) return HIDDEN;
    const tryExec = text(entry, 'TryExec');
    if (tryExec && !present(tryExec)) return { kind: 'hidden', missing: true };
    const name = localized(entry, 'Name', locales);
    if (!name) return HIDDEN;
    const way = wayOf(entry, file, name);
    return {
      kind: 'shown',
      missing: way.method === 'none',
      app: {
        id,
        name: own(name),
        icon: own(localized(entry, 'Icon', locales) ?? '') || null,
        categories: list(entry, 'Categories').map(own),
        ...way,
      },
    };
  };

  function wayOf(
    entry: Entry,
    file: string,
    name: string,
  ): Pick<Described, 'kind' | 'packaging' | 'method' | 'note' | 'wording' | 'family'> {
    const line = text(entry, 'Exec');
    const none = (note: string | Message, packaging: App['packaging'] = 'native') => ({
      kind: 'generic' as const,
      packaging,
      method: 'none' as const,
      ...(typeof note === 'string' ? { note } : { note: wordMessage(note, english), wording: note }),
      family: null,
    });
    if (!line) return none(N_('The session’s message bus starts it, and does not pass the proxy on.'));
    let args: string[];
    try {
      args = expandFields(splitExec(line), { name, icon: null, file });
    } catch (error) {
      if (error instanceof WordedError) return none(error.wording[0]!);
      throw error;
    }
    const { at, packaging, program } = locateProgram(args);
    const binary = packaging === 'native' ? present(args[at]!) : null;
    if (packaging === 'native' && !binary) return none(message('Its program %s is missing.', args[at]!));
    const family =
      (program === null ? undefined : BY_NAME.get(text(entry, 'X-SnapInstanceName') ?? program)) ??
      (binary && program !== null && electron(binary) ? ELECTRON : undefined);
    if (family) return known(family, args, packaging);
    if (packaging !== 'native')
      return none(
        N_('Culvert doesn’t know how to set its proxy, and proxychains4 can’t run inside its sandbox.'),
        packaging,
      );
    if (!preloads(binary!))
      return none(N_('Culvert doesn’t know how to set its proxy, and proxychains4 can’t reach into it.'));
    chains ??= present('proxychains4') !== null;
    if (!chains) return none(N_('Culvert doesn’t know how to set its proxy. Install proxychains4 to try it.'));
    return {
      kind: 'generic',
      packaging,
      method: 'proxychains',
      note: N_(
        'Culvert doesn’t know how to set its proxy. proxychains4 catches its TCP connections, but not UDP or connections that other programs make for it.',
      ),
      family: null,
    };
  }

  function known(family: Family, args: readonly string[], packaging: App['packaging']) {
    const way = { kind: family.kind, packaging, method: family.method, note: family.note ?? null, family };
    if (family.kind === 'chromium' && args.some(arg => /^--app(-id)?=/.test(arg)))
      return {
        ...way,
        method: 'none' as const,
        note: N_('It belongs to a browser’s profile, which Culvert can’t use.'),
      };
    if (family.kind === 'electron' && way.note === null) way.note = ELECTRON_NOTE;
    if (!family.gio) return way;
    if (packaging !== 'native')
      return {
        ...way,
        method: 'none' as const,
        note: N_('Inside its sandbox it uses the desktop’s proxy settings, which Culvert does not change.'),
      };
    if (resolver === undefined) resolver = gioResolver();
    return resolver
      ? way
      : {
          ...way,
          method: 'none' as const,
          note: N_('It gets the proxy from GIO. Install glib-networking so that GIO reads the proxy variables.'),
        };
  }
}

const HIDDEN: Kind = { kind: 'hidden', missing: false };

const ELECTRON: Family = { kind: 'electron', method: 'arguments', names: [] };
const ELECTRON_NOTE = N_(
  'Starts with its own data. Its windows use the proxy; what it does outside of them is up to the app.',
);

/** Applies OnlyShowIn and NotShowIn. The first of the session's desktops that is in either list decides. */
function shownOn(desktops: readonly string[], entry: Entry): boolean {
  const [only, not] = [list(entry, 'OnlyShowIn'), list(entry, 'NotShowIn')];
  for (const desktop of desktops) {
    if (only.includes(desktop)) return true;
    if (not.includes(desktop)) return false;
  }
  return only.length === 0;
}

/** Copies a string, because a substring in V8 keeps its whole source alive: a 10 KB file for a 20-byte name. */
const own = (text: string): string => Buffer.from(text).toString();

function memo<T>(f: (key: string) => T): (key: string) => T {
  const values = new Map<string, T>();
  return key => {
    if (!values.has(key)) values.set(key, f(key));
    return values.get(key)!;
  };
}

interface Family {
  kind: App['kind'];
  method: App['method'];
  /** Base names of programs, snap names, and Flatpak ids. */
  names: readonly string[];
  /** Caveat for every app in the family. */
  note?: string;
  /** True if the app asks GIO for the proxy. GIO reads the proxy variables only with a module of glib-networking. */
  gio?: true;
}

const words = (text: string) => text.trim().split(/\s+/);

const FAMILIES: readonly Family[] = [
  {
    kind: 'chromium',
    method: 'arguments',
    names: words(`
      chromium chromium-browser chromium-freeworld ungoogled-chromium google-chrome google-chrome-stable google-chrome-beta
      google-chrome-unstable chrome brave brave-browser brave-browser-stable brave-browser-beta brave-browser-nightly
      microsoft-edge microsoft-edge-stable microsoft-edge-beta microsoft-edge-dev vivaldi vivaldi-stable vivaldi-snapshot
      opera opera-stable opera-beta opera-developer yandex-browser yandex-browser-stable yandex-browser-beta
      thorium-browser iridium-browser
      org.chromium.Chromium io.github.ungoogled_software.ungoogled_chromium com.google.Chrome com.google.ChromeDev
      com.brave.Browser com.microsoft.Edge com.microsoft.EdgeDev com.vivaldi.Vivaldi com.opera.Opera ru.yandex.Browser`),
  },
  {
    kind: 'firefox',
    method: 'profile',
    names: words(`
      firefox firefox-esr firefox-bin firefox-beta firefox-devedition firefox-developer-edition firefox-nightly librewolf
      waterfox floorp zen zen-browser icecat iceweasel
      org.mozilla.firefox io.gitlab.librewolf-community net.waterfox.waterfox one.ablaze.floorp app.zen_browser.zen
      org.gnu.icecat`),
  },
  {
    kind: 'firefox',
    method: 'profile',
    names: words(
      'thunderbird thunderbird-esr thunderbird-bin betterbird org.mozilla.Thunderbird org.mozilla.thunderbird',
    ),
    note: N_('Starts with its own profile. Set up your accounts there once.'),
  },
  {
    kind: 'firefox',
    method: 'none',
    names: words(
      'torbrowser-launcher tor-browser start-tor-browser org.torproject.torbrowser-launcher mullvad-browser',
    ),
    note: N_('It has its own network settings, which this would break.'),
  },
  {
    kind: 'electron',
    method: 'arguments',
    names: words(`
      code code-oss code-insiders codium vscodium cursor windsurf slack discord discord-canary discord-ptb vesktop webcord
      signal-desktop signal-desktop-beta element-desktop schildichat-desktop teams-for-linux obsidian bitwarden postman
      insomnia mattermost-desktop rocketchat-desktop zulip wire-desktop tidal-hifi figma-linux github-desktop
      joplin-desktop logseq skypeforlinux whatsie session-desktop threema-web freetube balena-etcher
      com.visualstudio.code com.visualstudio.code-oss com.vscodium.codium com.slack.Slack com.discordapp.Discord
      dev.vencord.Vesktop org.signal.Signal im.riot.Riot com.github.IsmaelMartinez.teams_for_linux md.obsidian.Obsidian
      com.bitwarden.desktop com.getpostman.Postman rest.insomnia.Insomnia com.mattermost.Desktop chat.rocket.RocketChat
      org.zulip.Zulip com.wire.WireDesktop com.mastermindzh.tidal-hifi io.github.shiftey.Desktop
      net.cozic.joplin_desktop com.logseq.Logseq io.freetubeapp.FreeTube`),
  },
  {
    kind: 'generic',
    method: 'environment',
    names: words(`
      curl wget wget2 axel lynx w3m elinks links links2 newsboat newsraft yt-dlp youtube-dl gallery-dl pip
      pipx npm gpodder fractal newsflash com.gitlab.newsflash io.gitlab.news_flash.NewsFlash org.gnome.Fractal
      org.gpodder.gpodder`),
  },
  {
    kind: 'generic',
    method: 'environment',
    gio: true,
    note: N_('Its downloads use the proxy; its UDP traffic does not.'),
    names: words(`
      epiphany epiphany-browser gnome-maps gnome-weather evolution geary liferea shotwell foliate com.github.johnfactotum.Foliate
      gnome-podcasts midori surf badwolf gnome-software`),
  },
  {
    kind: 'generic',
    method: 'environment',
    names: words('git'),
    note: N_('Its http and https connections use the proxy; ssh and git connections do not.'),
  },
  {
    kind: 'generic',
    method: 'environment',
    names: words('xterm uxterm urxvt rxvt-unicode st kitty alacritty foot wezterm lxterm'),
    note: N_('Programs that you start in it get the proxy variables, but may ignore them.'),
  },
];

const BY_NAME = new Map(FAMILIES.flatMap(family => family.names.map(name => [name, family] as const)));
