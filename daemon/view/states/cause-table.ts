// Lists the tunnel CLI's reason codes with a title, a sentence and a remedy for each.
// Codes and first remedies follow Cloudflare's client error pages (cloudflare-one-client/troubleshooting).
import type { RegistrationCause } from '../../api/tunnel.ts';
import type { Translator } from '../translator.ts';
import { generalWords } from './registration.ts';

/** Effect of the button that a cause offers. */
export type Remedy =
  | 'retry'
  | 'portal'
  | 'network'
  | 'protocol'
  | 'udp'
  | 'restart'
  | 'start'
  | 'checks'
  | 'register'
  | 'account'
  | 'networks'
  | 'tunnel-only'
  | 'proxy-port'
  | 'connect'
  | 'wait';

/** A cause: its codes and texts (only letters and digits are compared), title, sentence, remedy, and checks that look for it. */
export type Entry = readonly [
  codes: readonly string[],
  title: string,
  sentence: string,
  remedy: Remedy,
  ...checks: readonly string[],
];

/** Lists failures with documented codes. */
const failureCauses = ({ _ }: Translator): readonly Entry[] => [
  [
    ['CF_CAPTIVE_PORTAL_TIMED_OUT', 'CaptivePortalTimedOut'],
    _('This network wants you to sign in'),
    `${_('You did not finish its sign-in page in time.')} ${_('WARP connects after you sign in on its page.')}`,
    'portal',
    'captive-portal',
  ],
  [
    ['CaptivePortal'],
    _('This network wants you to sign in'),
    _('WARP connects after you sign in on its page.'),
    'portal',
    'captive-portal',
  ],
  // must precede the general connection test, because WARP reports this text with the code of that test
  [
    ['CF_DNS_LOOKUP_FAILURE', 'DNSLookupFailed', 'Connectivity check failed due to DNS Lookup Failed'],
    _('DNS does not work here'),
    _('This network has no working DNS, or another program changes it.'),
    'checks',
    'dns-resolv-conf',
    'dns-search',
    'dns-provider-resolvers',
  ],
  [
    ['CF_CONNECTIVITY_FAILURE_UNKNOWN', 'ConnectivityCheckFailed'],
    _('The connection test failed'),
    _('A firewall, another VPN or this network may block WARP.'),
    'checks',
    'captive-portal',
  ],
  [
    ['CF_DNS_PROXY_FAILURE', 'Port53Bound', 'Unable to bind local UDP socket'],
    _('Another program uses the DNS port'),
    _('A local DNS server or another VPN uses port 53. A mode without DNS still works.'),
    'tunnel-only',
    'dns-port-53',
  ],
  [
    ['CF_FAILED_READ_SYSTEM_DNS_CONFIG', 'unrecognized char'],
    _('The system’s DNS settings can’t be read'),
    _('/etc/resolv.conf has a wrong line or a search domain with an invalid character.'),
    'checks',
    'dns-search',
    'dns-resolv-conf',
  ],
  [
    ['CF_FAILED_TO_SET_MTLS', 'FailedToSetMtls'],
    _('The client certificate is not valid'),
    _('It is missing or has expired. Ask your administrator to install it again.'),
    'wait',
  ],
  [
    ['CF_HAPPY_EYEBALLS_MITM_FAILURE'],
    _('This network inspects or blocks WARP'),
    _(
      'A firewall, filter or security product stops its traffic, often all of UDP. Another protocol or network may work.',
    ),
    'udp',
    'reachability',
  ],
  [
    ['HappyEyeballsFailed', 'All Happy Eyeballs checks failed'],
    _('No Cloudflare server could be reached'),
    _('A firewall or this network blocks the tunnel, often all of UDP. Another protocol may get through.'),
    'udp',
    'reachability',
  ],
  [
    ['CF_HOST_UNREACHABLE_CHECK', 'HostUnreachable'],
    _('The tunnel carries no traffic'),
    _('It is up, but the test through it failed. A security product or a sign-in page may be in the way.'),
    'protocol',
    'no-traffic',
    'captive-portal',
  ],
  [
    ['CF_LOCAL_POLICY_FILE_FAILED_TO_PARSE', 'LocalPolicyFileFailedToParse'],
    _('The management file is invalid'),
    _('WARP can’t read /var/lib/cloudflare-warp/mdm.xml. Ask your administrator for a corrected one.'),
    'restart',
    'mdm-file',
  ],
  [
    ['CF_NO_NETWORK', 'NoNetwork'],
    _('You are offline'),
    _('This computer has no network with internet access.'),
    'network',
  ],
];

/** Lists what the system lacks. */
const resourceCauses = ({ _ }: Translator): readonly Entry[] => [
  [
    ['CF_INSUFFICIENT_DISK', 'Insufficient system resource: disk'],
    _('No space left on disk'),
    _('WARP can’t write its data. Free some space, or check that the disk is writable.'),
    'retry',
  ],
  [
    ['CF_INSUFFICIENT_FILE_DESCRIPTORS', 'Insufficient system resource: file descriptor'],
    _('WARP has too many open files'),
    _('Restarting it helps for now. If it comes back, raise the system’s limit of open files.'),
    'restart',
  ],
  [
    ['CF_INSUFFICIENT_MEMORY', 'Insufficient system resource: memory'],
    _('Not enough memory'),
    _('Close some programs, then connect again.'),
    'retry',
  ],
  [
    ['InsufficientSystemResource'],
    _('The system lacks a resource that WARP needs'),
    _('This can be memory, disk space or open files.'),
    'checks',
  ],
];

/** Returns the words of a cause of a missing registration. */
function wordsOf(code: RegistrationCause['code'], tr: Translator): [title: string, sentence: string] {
  const { title, sentence } = generalWords(code, tr);
  return [title, sentence];
}

/** Lists the causes of a missing, changed or removed registration, by the reasons that the tunnel CLI gives. */
const registrationCauses = (tr: Translator): readonly Entry[] => [
  [
    ['CF_REGISTRATION_MISSING', 'RegistrationMissing', 'MissingRegistration', 'DaemonStartup', 'ManualDeletion'],
    tr._('This device is not set up'),
    tr._('WARP has no registration for it.'),
    'register',
    'registration-stuck',
  ],
  [['Revoked'], ...wordsOf('removed', tr), 'account'],
  [['Does not exist in API'], ...wordsOf('unknown-to-api', tr), 'account'],
  [['Invalidated', 'RegistrationChanged'], ...wordsOf('changed', tr), 'account'],
];

/** Lists interception, settings that keep the tunnel off, and failures without a `CF_` code. */
const otherCauses = ({ _ }: Translator): readonly Entry[] => [
  [
    ['CF_TLS_INTERCEPTION_BLOCKING_DOH', 'TLSInterceptionBlockingDOH'],
    _('Something intercepts encrypted DNS'),
    _('A security product or proxy inspects HTTPS. Exclude WARP from it, or use another network.'),
    'checks',
  ],
  [
    ['CF_TLS_INTERCEPTION_CHECK', 'TLSInterceptionDetected'],
    _('A program reads your encrypted traffic'),
    _('A security product or company proxy inspects TLS, which WARP does not accept.'),
    'checks',
  ],
  [
    ['Admin directed disconnect', 'EmergencyDisconnect'],
    _('Disconnected by your administrator'),
    _('WARP reconnects when your administrator allows it.'),
    'wait',
  ],
  [['DisabledForWiFi'], _('Off on Wi-Fi'), _('WARP is set to stay off on every Wi-Fi network.'), 'networks'],
  [['DisabledForEthernet'], _('Off on wired networks'), _('WARP is set to stay off on wired networks.'), 'networks'],
  [
    ['DisabledForNetwork'],
    _('Off on this trusted network'),
    _('This Wi-Fi is on your list of trusted networks.'),
    'networks',
  ],
  [
    ['DisabledByOverride'],
    _('Paused with an administrator’s code'),
    _('WARP comes back when the code runs out.'),
    'connect',
  ],
  [['Paused'], _('Paused'), _('WARP reports that it is paused.'), 'connect'],
  [
    ['InternalDNSError'],
    _('The DNS part of WARP failed'),
    _('Another program may have changed DNS. Restarting WARP usually helps.'),
    'restart',
  ],
  [
    ['InternalTunnelError'],
    _('The tunnel part of WARP failed'),
    _('Another VPN may have changed routes. Restarting WARP usually helps.'),
    'restart',
  ],
  [
    ['InternalmTLSError'],
    _('The certificate part of WARP failed'),
    _('The client certificate may be missing or no longer valid. If this continues, ask your administrator.'),
    'retry',
  ],
  [
    ['ProxyAddressBound'],
    _('Another program uses the proxy’s port'),
    _('Choose another port for the local proxy, or stop that program.'),
    'proxy-port',
    'proxy-dead',
  ],
  [
    ['ConflictingNetwork'],
    _('Your network conflicts with the tunnel'),
    _('It uses the tunnel’s address range, or another VPN does.'),
    'checks',
  ],
  [
    ['PacketTunnelUnavailable'],
    _('There is no tunnel interface'),
    _('Check that the kernel module tun is loaded.'),
    'checks',
  ],
  [
    ['FailedToExcludeLan'],
    _('The local network could not be left out'),
    _('It is not private, or larger than WARP allows (/24).'),
    'retry',
  ],
  [
    ['AuthenticationExpired', 'Registration error. Please try again later'],
    _('Signing in took too long'),
    _('The sign-in is valid for 50 seconds; also check that the clock is right.'),
    'account',
    'session-expiry',
    'registration-stuck',
    'clock',
  ],
  [
    ['FailedToConnectToDaemon', 'Maybe the daemon is not running?'],
    _('The WARP service is not running'),
    _('Without it there is no tunnel. Start it to connect.'),
    'start',
    'service',
  ],
];

/** Reason codes that Culvert defines, not the tunnel CLI. */
export const OWN_CODES: readonly string[] = ['ProgramFailed', 'ConnectIgnored', 'ConnectAccepted'];

/** Lists causes that Culvert detects, for which the tunnel client reports no reason. */
const ownCauses = ({ _ }: Translator): readonly Entry[] => [
  [
    ['ProgramFailed'],
    _('WARP’s program failed'),
    _('It does not say whether the tunnel is up. If this continues, restart WARP’s service, or install WARP again.'),
    'restart',
    'service',
  ],
  [
    ['ConnectIgnored'],
    _('WARP accepted, but did not connect'),
    _('The journal of its service may say why.'),
    'checks',
    'service-journal',
  ],
];

/** Returns all causes; the first match counts. */
export const causeEntries = (tr: Translator): readonly Entry[] => [
  ...failureCauses(tr),
  ...resourceCauses(tr),
  ...registrationCauses(tr),
  ...otherCauses(tr),
  ...ownCauses(tr),
];
