// Lets other machines in: by the bearer token and paired devices, and with TLS where a certificate is configured.

import type { Message } from '../../api/schema/values.ts';
import type { Config } from '../../api/schema.ts';
import type { State } from '../../state/store.ts';
import type { Paths } from '../../system/paths.ts';
import { message, wordMessages } from '../../view/message.ts';
import { english } from '../../view/translator.ts';
import { createPairing, type Pairing, type Rights } from './pairing.ts';
import { loadTls, type Tls, wordingOf } from './tls.ts';
import { readToken, tokenCheck } from './token.ts';

/** Credentials for requests from other machines. */
export interface RemoteAccess {
  token: TokenCheck;
  /** Rights of the paired device that sends this `Cookie` header; null for none. */
  rightsOf(cookie: string | undefined): Rights | null;
  /** webui.address: where a reverse proxy or a name leads to this daemon. */
  address: string | null;
}

/** Compares a bearer token in constant time. */
type TokenCheck = (given: string) => boolean;

export interface OpenRemoteAccess extends RemoteAccess {
  pairing: Pairing;
  tls: Tls | null;
}

interface Context {
  paths: Paths;
  state: State;
  config: Config;
  say(line: string): void;
  /** Closes every connection from another machine. */
  closeConnections(): void;
}

/**
 * Opens remote access and publishes its state. Creates the token if it does not exist yet.
 * @returns null when certificate or key can't be used: no machine is admitted without the encryption that was
 * configured
 * @throws Error, TokenError for files of this user that hold something else
 */
export async function openRemoteAccess(context: Context): Promise<OpenRemoteAccess | null> {
  const { paths, state, config, say, closeConnections } = context;
  const { address, tlsCertificate: certificate, tlsKey: key } = config.webui;
  let open = true;
  let wording: Message[] | null = null;
  const publish = () => {
    const paired = pairing.list();
    state.set('remoteAccess', {
      open,
      address: address || null,
      problem: wording && wordMessages(wording, english),
      devices: paired.length,
      ...(wording ? { wording } : {}),
      managing: paired.filter(({ manage }) => manage).length,
      tls: tls && { expiresAt: tls.expiresAt() },
    });
  };
  const pairing = createPairing({
    path: paths.devices,
    say,
    onChange(what) {
      if (what === 'revoked') closeConnections();
      publish();
    },
  });
  const renewed = (messages: Message[] | null) => {
    wording = messages;
    say(
      messages
        ? `The earlier certificate stays in use. ${wordMessages(messages, english)}`
        : 'The renewed certificate is in use.',
    );
    publish();
  };
  let tls: Tls | null = null;
  try {
    if (certificate || key) tls = loadTls({ certificate, key }, renewed);
  } catch (error) {
    open = false;
    wording = [message('Other machines are refused.'), ...wordingOf(error)];
    say(wordMessages(wording, english));
    publish();
    return null;
  }
  publish();
  const token = tokenCheck(await readToken(paths.token, { create: true }));
  return { pairing, tls, token, rightsOf: pairing.rightsOf, address: address || null };
}
