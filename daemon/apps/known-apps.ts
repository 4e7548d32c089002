// Lists the apps that take a proxy, and how. An app that is not listed is not assumed to honor any setting.
import type { App } from '../api/schema.ts';
import { N_ } from '../view/translator.ts';

export interface Family {
  kind: App['kind'];
  method: App['method'];
  /** Base names of programs, names of snaps, and Flatpak's ids. */
  names: readonly string[];
  /** Caveat that applies to every app in the family. */
  note?: string;
  /** Asks Gio for the proxy, which takes it from the variables only with a module of glib-networking. */
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

export function familyOf(name: string): Family | undefined {
  return BY_NAME.get(name);
}
