// Ranks rows by the words of a query, and lists keywords for settings.
import { foldText } from '../text-search.ts';
import type { Translator } from '../translator.ts';

/** Maximum number of letters to drop from a query's word as its ending, as in “exclusions”. */
const ENDING = 3;
/** Minimum number of letters of a word without its ending. */
const STEM = 4;
/** Rank of a row with only some of the words. */
const PARTIAL = 7;

/**
 * @param rows texts of each row, in order of importance; each text may be a list separated by semicolons
 * @returns the rank of each row, with 0 for the best and null for no match
 */
export function rankRows(rows: readonly (readonly string[])[], query: string): (number | null)[] {
  const words = foldText(query).split(' ').filter(Boolean);
  if (!words.length) return rows.map(() => null);
  const indexed = rows.map(texts => texts.map(indexOf));
  const ranks = indexed.map(texts => rankOf(texts, words));
  return ranks.some(rank => rank !== null) ? ranks : partialRanks(indexed, words);
}

/**
 * Returns the rank of a row's texts: 0 if the title begins with the query. Matches at the start of words count more than
 * matches inside words.
 * @returns null if a word is missing
 */
function rankOf(texts: readonly string[], words: readonly string[]): number | null {
  const phrases = [` ${words.join(' ')}`, ` ${words.join('')}`];
  if (phrases.some(phrase => texts[0]!.startsWith(phrase))) return 0;
  const text = texts.findIndex(each => phrases.some(phrase => each.includes(phrase)));
  if (text >= 0) return 1 + text;
  const all = texts.join(' ');
  if (words.every(word => all.includes(` ${word}`))) return 5;
  return words.every(word => all.includes(word)) ? 6 : null;
}

/** Ranks rows if no row has all words. A word in few rows counts more than a word in many rows. */
function partialRanks(rows: readonly (readonly string[])[], words: readonly string[]): (number | null)[] {
  const texts = rows.map(each => each.join(' '));
  const scores = texts.map(() => 0);
  for (const word of words) {
    const holders = holdersOf(texts, word);
    for (const holder of holders) scores[holder]! += 1 / holders.length;
  }
  const best = Math.max(...scores);
  return scores.map(score => (score > 0 && score >= best / 2 ? PARTIAL + 1 - score / best : null));
}

/** Returns the indexes of the texts that contain a word, or the word without its ending. */
function holdersOf(texts: readonly string[], word: string): number[] {
  const shortest = Math.min(word.length, Math.max(STEM, word.length - ENDING));
  for (let length = word.length; length >= shortest; length--) {
    const stem = ` ${word.slice(0, length)}`;
    const holders = texts.flatMap((text, i) => (text.includes(stem) ? [i] : []));
    if (holders.length) return holders;
  }
  return [];
}

const indexes = new Map<string, string>();
/** Maximum number of cached indexes. Each key searches lists of thousands of texts again. */
const KEPT = 20_000;

/** Returns each phrase's words and joined pairs of words, so “killswitch” matches “kill switch”. */
function indexOf(text: string): string {
  const cached = indexes.get(text);
  if (cached !== undefined) return cached;
  if (indexes.size >= KEPT) indexes.clear();
  const index = text.split(';').map(indexOfPhrase).join(' ;');
  indexes.set(text, index);
  return index;
}

function indexOfPhrase(phrase: string): string {
  const words = foldText(phrase).split(' ');
  const pairs = words.slice(1).map((word, i) => `${words[i]}${word}`);
  return ['', ...words, ...pairs].join(' ');
}

const both = (...lists: string[]) => lists.join('; ');

/** Returns keywords by `page/row`. Semicolons separate them, so a translation can have more or fewer keywords. */
export function rowKeywords(tr: Translator): Record<string, string> {
  return { ...linkKeywords(tr), ...settingKeywords(tr) };
}

/** Returns keywords of the links to pages. */
function linkKeywords({ _ }: Translator): Record<string, string> {
  return {
    // Translators: in each of these lists, words for one setting, separated by semicolons: put those of your language
    'settings/to-connection': _(
      'connect; reconnect; my IP address; disconnect; turn on; turn off; pause; timer; snooze; break; schedule; airplane mode; status; captive portal; sign in',
    ),
    'settings/to-mode': both(
      _('VPN; tunnel; connection type; exit node; full tunnel; all traffic; protocol'),
      _('hide my IP; my internet provider; anonymous'),
    ),
    'settings/to-killswitch': both(
      _(
        'killswitch; firewall; lockdown; always-on; block internet; leak protection; captive portal; kill switch exceptions',
      ),
      _('lockdown mode; permanent kill switch; IP leak; DNS leak'),
      _('disconnect protection; network lock; advanced kill switch'),
    ),
    'settings/to-routes': both(
      _(
        'split tunneling; split tunnelling; exclude; exclusion; include; bypass; allow list; whitelist; exceptions; IPv4; IPv6; subnet routes; CIDR; allowed IPs', // glossary: quoted
      ),
      _('allowlist; IP addresses; split tunnels; include mode; exclusions'),
      _('Docker; containers; virtual machine; SSH; Git; websites; bank; Netflix'),
    ),
    'settings/to-editor': _('import routes; export routes; paste list; file; presets; backup'),
    'settings/to-dns': both(
      _('name server; resolver; custom DNS server; MagicDNS; blocker; encrypted DNS'),
      _('8.8.8.8; 9.9.9.9; block websites; gambling; social media'),
    ),
    'settings/to-networks': both(
      _('Wi-Fi; wireless; hotspot; public network; trusted network; captive portal; home; office; SSID'),
      _('public Wi-Fi; coffee shop; hotel; airport Wi-Fi; travel; roaming'),
    ),
    'settings/to-advanced': _('expert; advanced; MTU; server; endpoint; exit node; factory reset; defaults'),
    'settings/to-apps': both(
      _('app based split tunneling; programs; applications; browser; launch; per-app; proxy'),
      _('shortcut; app menu; desktop icon'),
      _('exclude app; Firefox; Chrome; Steam; games; gaming; torrent; streaming; Netflix; Zoom; Git'),
    ),
    'settings/to-account': both(
      _('profile; user; sign in; log in; login; log out; devices; device ID; subscription; phone; team'),
      _('sign in again; reauthenticate; revoke; password'),
    ),
    'settings/to-checks': both(
      _(
        'doctor; diagnose; diagnostics; troubleshoot; help; support; bug; report a problem; repair; fix; error; not working; test',
      ),
      _('troubleshooting; hotspot login'),
      _('slow; crash; no internet; broken'),
      _('can’t connect; won’t connect; keeps disconnecting; drops; certificate; root certificate; feedback; suspend'),
    ),
    'settings/to-history': both(
      _('speed; bandwidth; ping; data usage; traffic; statistics; uptime; sessions'),
      _('speed; bandwidth; ping; statistics; throughput; live; performance; quality'),
      _('graph; chart; slow'),
      _('Mbps; lag; jitter; drops; disconnects'),
    ),
    'settings/to-log': both(_('logs; debug; console; terminal; output; commands'), _('log file')),
    'settings/to-tools': _('API keys; command line; tokens; quota; rotate'),
    'settings/to-certificate': _('TLS; SSL; root certificate; CA; self-signed; inspection; trust'),
    'settings/to-updates': both(
      _('upgrade; version; new release; rollback; downgrade; about'),
      _('changelog; release notes; uninstall'),
    ),
    'settings/shortcuts': _('keyboard; hotkey; shortcut; key binding; accelerator'),
    'settings/to-preferences': _('options; app settings; notify; telemetry; privacy; general'),
  };
}

/** Returns keywords of the rows of pages. */
function settingKeywords({ _ }: Translator): Record<string, string> {
  return {
    'account/override': _('locked; switch locked; administrator'),
    'mode/mode-warp': _('VPN; full tunnel; everything'),
    'mode/mode-warp+doh': _('DoH; DNS over HTTPS; encrypted DNS; secure DNS'),
    'mode/mode-warp+dot': _('DoT; DNS over TLS; encrypted DNS; secure DNS; private DNS'),
    'mode/mode-doh': _('DoH; DNS over HTTPS; encrypted DNS; 1.1.1.1; no VPN'),
    'mode/mode-dot': _('DoT; DNS over TLS; private DNS; 1.1.1.1'),
    'mode/mode-proxy': _('SOCKS; SOCKS5; HTTP proxy; per-app; split tunneling by app'),
    'mode/protocol-MASQUE': both(
      _('QUIC; HTTP/3; obfuscation; stealth; censorship; anti-censorship; UDP blocked'),
      _('post-quantum; quantum resistant'),
    ),
    'mode/masque-h2-only': both(
      _('UDP blocked; blocks UDP; no UDP; TCP; TCP 443; HTTP/2; h2'),
      _('firewall; restrictive network; hotel; school; office; can’t connect; connecting forever'),
    ),
    'mode/masque-h3-with-h2-fallback': _('UDP blocked; TCP fallback; HTTP/2; h2'),
    'mode/protocol-WireGuard': both(_('WG; UDP; VPN protocol; battery; power'), _('OpenVPN; IKEv2')),
    'killswitch/lan': both(
      _('LAN; printer; local network sharing; NAS; Chromecast; smart TV; router'),
      _('LAN discovery; local network access; allow LAN traffic'),
    ),
    'killswitch/boot': _('boot; startup; restart'),
    'networks/wifi': _('Wi-Fi; WLAN; wireless; hotspot; auto-connect'),
    'networks/ethernet': _('Ethernet; LAN cable; wired'),
    'networks/local': _('LAN; printer; local network sharing; NAS; Chromecast; smart TV; router'),
    'dns/families-malware': _(
      'adblock; ad blocker; content blocker; NetShield; threat protection; phishing; trackers; security',
    ),
    'dns/families-full': _('family; parental control; kids; children; porn; NSFW; content blocker; safe browsing'),
    'dns/fallback-add': _('local domain fallback; search domain; split DNS; intranet; custom DNS server; name server'),
    'dns/gateway-set': _('DoH subdomain; Zero Trust location; Gateway'),
    'account/team': both(
      _('Zero Trust; organisation; company; work; SSO; single sign-on; login; enroll'), // glossary: quoted
      _('team domain'),
      _('organization; sign in; log in; business; school'),
    ),
    'account/license-set': _(
      'WARP+; licence; premium; subscription; upgrade plan; unlimited; voucher; activation code', // glossary: quoted
    ),
    'account/delete': _('log out; logout; sign out; unregister; deregister; delete account; leave organization'),
    'account/rotate': both(
      _('key rotation; rotate keys; regenerate WireGuard key'),
      _('public key; private key; new key'),
    ),
    'advanced/proxy-port': _('SOCKS; SOCKS5; HTTP proxy; localhost'),
    'advanced/endpoint-set': _('endpoint; server; fastest server; location; custom IP; relay; country; city'),
    'advanced/reset': _('factory reset; restore defaults; start over'),
    'mode/vnet': _('vnet; virtual network'),
    'preferences/tray.autostart': both(
      _('autostart; startup; boot; launch at login; tray icon; menu bar; background; run at startup'),
      _('system tray; minimize to tray; start minimized'),
      _('hide window; close to tray'),
    ),
    'preferences/tray.startHidden': _('start minimized; background; tray icon'),
    'preferences/tray.shortcuts': _('hotkey; keyboard shortcut; key binding; global shortcut'),
    'preferences/ui.theme': both(
      _('dark mode; light theme; night; color; appearance'),
      _('look and feel; color scheme'),
      _('monochrome; monochromatic; black and white'),
    ),
    'preferences/ui.locale': _('translation; region; locale'),
    'preferences/notifications.level': both(
      _('notify; alerts; pop-up; messages'),
      _('desktop notifications'),
      _('notify; timer; alerts'),
      _('quiet; mute; silence; do not disturb'),
    ),
    'preferences/history.enabled': _('privacy; data retention; statistics; telemetry'),
    'preferences/metrics.enabled': _('telemetry; Grafana; monitoring; statistics'),
    'preferences/updates.checkOnStartup': _('upgrade; automatic updates'),
    'preferences/updates.channel': _('beta program; preview; early access; release channel'),
    'preferences/webui.enabled': _('remote access; browser; web interface; phone; dashboard; web UI'),
    'preferences/export-settings': _('backup; save; transfer; sync'),
    'preferences/apply-settings': _('import; restore; load; transfer'),
  };
}
