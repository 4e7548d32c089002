// Admits connections: how many of each kind may be open, and how many bytes of unread answers they may hold.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../problem.ts';
import { checkPeer, type Limits, type Via } from './guard.ts';
import type { Pipeline } from './pipeline.ts';
import { refuseUnparsed } from './refusals.ts';

/** Connections whose owner is being looked up. A lookup takes 5 to 60 ms. */
const PENDING = 1_024;
/** Connections over a quota that may wait for their refusal. */
const SURPLUS = 64;

/** A connection that is served. */
export interface Connection {
  via: Via;
  pipeline: Pipeline;
}

/** Whose a connection is; `uid` of a local peer that is not this user, where the kernel knows it. */
export interface Peer {
  via: Via;
  uid?: number | null;
}

export interface Connections {
  /** Has `serve` take a connection, or refuses it. Nothing is read from it before it is known whose it is. */
  add(socket: Socket, peer: Peer | Promise<Peer | null>, serve: Serve): void;
  get(socket: Socket): Connection | undefined;
  entries(): Iterable<[Socket, Connection]>;
  /** Closes the connections that are not admitted, and those that arrive from now on. */
  closeRefused(): void;
  /** Keeps the unread answers within their limit, once this one has been written. */
  watch(response: ServerResponse): void;
}

type Kind = 'own' | 'remote';
/** Hands a connection to the HTTP server that accepted it. */
type Serve = (socket: Socket) => Pipeline;

/**
 * The open connections of one kind of listener, on all of its addresses. This user has a quota that no other user can
 * use up. A connection over a quota stays open just long enough to be refused: a refusal that is sent before the request was
 * read gets lost in the kernel's reset.
 */
export function createConnections(quota: Record<Kind, number>, { strangers, unreadBytes }: Limits): Connections {
  const open = new Map<Socket, Connection>();
  const counts: Record<Kind, number> = { own: 0, remote: 0 };
  const refused = new Map<Socket, string>();
  let pending = 0;
  let isClosing = false;

  function settle(socket: Socket, { via, uid }: Peer, serve: Serve): void {
    if (socket.destroyed) return;
    // a closing HTTP server no longer ends idle connections, so one that is admitted now would keep it open
    if (isClosing) return void socket.destroy();
    const problem = checkPeer(via);
    if (problem) {
      refuse(socket, problem, `user ${uid ?? '?'}`);
      return;
    }
    const kind = via.kind === 'remote' ? 'remote' : 'own';
    if (counts[kind] >= quota[kind]) {
      refuse(socket, new Problem('busy', `${quota[kind]} connections are open, and no more are allowed.`), kind);
      return;
    }
    counts[kind] += 1;
    open.set(socket, { via, pipeline: serve(socket) });
    socket.once('close', () => {
      counts[kind] -= 1;
      open.delete(socket);
    });
  }

  function refuse(socket: Socket, problem: Problem, group: string): void {
    const groups = [...refused.values()];
    const isStranger = group.startsWith('user');
    const ofGroup = groups.filter(each => each === group).length;
    const ofStrangers = groups.filter(each => each.startsWith('user')).length;
    const isFull = isStranger
      ? ofStrangers >= strangers || ofGroup >= Math.ceil(strangers / 2)
      : ofGroup >= Math.min(SURPLUS, Math.ceil(quota[group as Kind] / 4));
    if (isFull) return void socket.destroy();
    refused.set(socket, group);
    socket.once('close', () => refused.delete(socket));
    refuseUnparsed(socket, problem);
  }

  /** Closes the connection with the most unread bytes while all together have too many. */
  function limitUnread(): void {
    let [sum, most] = [0, 0];
    let worst: Socket | undefined;
    for (const socket of open.keys()) {
      const bytes = socket.writableLength;
      sum += bytes;
      if (bytes > most) [most, worst] = [bytes, socket];
    }
    if (sum > unreadBytes) worst?.destroy();
  }

  return {
    add(socket, peer, serve) {
      socket.on('error', () => {}); // 'close' follows
      if (!(peer instanceof Promise)) return settle(socket, peer, serve);
      if (pending >= PENDING) return void socket.destroy();
      pending += 1;
      void peer.then(identity => {
        pending -= 1;
        if (identity) settle(socket, identity, serve);
        else socket.destroy();
      });
    },
    get: socket => open.get(socket),
    entries: () => [...open],
    closeRefused() {
      isClosing = true;
      for (const socket of refused.keys()) socket.destroy();
    },
    watch: response => void response.once('prefinish', limitUnread),
  };
}
