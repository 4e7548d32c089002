// Admits connections up to a quota of each kind, and handles one request at a time on each connection.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../problem.ts';
import { checkPeer, type Limits, type Via } from './guard.ts';
import { refuseUnparsed } from './refusals.ts';

/** Maximum number of connections whose owner is being looked up. A lookup takes 5 to 60 ms. */
const PENDING = 1_024;
/** Maximum number of connections over a quota that wait for their refusal. */
const SURPLUS = 64;

/** An admitted connection. */
export interface Connection {
  via: Via;
  pipeline: Pipeline;
}

/** Owner of a connection; `uid` is the user of a local peer, if the kernel knows it. */
export interface Peer {
  via: Via;
  uid?: number | null;
}

export interface Connections {
  /** Passes a connection to `serve`, or refuses it. Nothing is read from a connection before its owner is known. */
  add(socket: Socket, peer: Peer | Promise<Peer | null>, serve: Serve): void;
  get(socket: Socket): Connection | undefined;
  entries(): Iterable<[Socket, Connection]>;
  /** Closes refused connections, and all connections that arrive from now on. */
  closeRefused(): void;
  /** Enforces the limit of unread bytes once this response has been written. */
  watch(response: ServerResponse): void;
}

type Kind = 'own' | 'remote';
/** Hands a connection to the HTTP server that accepted it. */
type Serve = (socket: Socket) => Pipeline;

/**
 * Keeps the open connections of one kind of listener, on all of its addresses. This user has a quota that no other user can use
 * up. A connection over a quota stays open just long enough to be refused: a refusal sent before the request is read gets lost
 * in the kernel's reset.
 */
export function createConnections(quota: Record<Kind, number>, { strangers, unreadBytes }: Limits): Connections {
  const open = new Map<Socket, Connection>();
  const counts: Record<Kind, number> = { own: 0, remote: 0 };
  const refused = new Map<Socket, string>();
  let pending = 0;
  let isClosing = false;

  function settle(socket: Socket, { via, uid }: Peer, serve: Serve): void {
    if (socket.destroyed) return;
    // a closing HTTP server no longer ends idle connections, so a new connection would keep it open
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

  /** Closes the connection with the most unread bytes if the total exceeds the limit. */
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

/** Bytes that are searched for the end of a head; if it is not there, they are parsed as one piece. */
const WINDOW_BYTES = 1_024;
/** Bytes of a body that are parsed in one piece. */
const BODY_BYTES = 512;
/** Maximum number of waiting requests, for input that is cut so that no piece ends with a head. */
const MAX_WAITING = 32;
/** Time limit for a client to read part of an answer. */
const UNREAD_MS = 30_000;

interface Pipeline {
  /** Runs `handle` for a parsed request once all earlier requests are answered. */
  take(request: IncomingMessage, response: ServerResponse, handle: () => void): void;
  /** Ignores all further input, and runs `answer` once the complete earlier requests are answered. */
  end(answer: () => void): void;
  /** Ignores all further input and all waiting requests, and runs `answer` instead of the current response. */
  refuse(answer: () => void): void;
  /** Length of the current request's first line so far, in bytes. */
  lineBytes(): number;
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  handle(): void;
}

/**
 * Sits between a socket and Node's parser. The parser alone would parse a whole read of 64 KiB, with thousands of requests,
 * before anything else in the process runs. Call this after the HTTP server has received the connection.
 * @param isStream true if the connection carries an event stream, after which nothing more is read
 */
export function createPipeline(socket: Socket, isStream: () => boolean): Pipeline {
  const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[];
  const waiting: Exchange[] = [];
  let current: Exchange | null = null;
  let last: IncomingMessage | null = null;
  let isStarting = false;
  let isHeld = false;
  let ending: (() => void) | null = null;
  /** True if the last parsed piece ended with an empty line, so that no head is cut in two. */
  let isWhole = true;
  let line = { bytes: 0, isComplete: false };

  socket.removeListener('data', parse!);
  socket.on('data', feed);

  function feed(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && !ending && !socket.destroyed && !isStream()) {
      if (socket.isPaused() || isBodyUnread() || (isWhole && isBusy()) || waiting.length >= MAX_WAITING) {
        hold(chunk.subarray(at));
        return;
      }
      if (isWhole && !isReadingBody()) line = { bytes: 0, isComplete: false };
      const { end, isEmptyLine } = pieceOf(chunk, at, isReadingBody() ? BODY_BYTES : 0);
      const piece = chunk.subarray(at, end);
      measureLine(piece);
      at = end;
      isWhole = isEmptyLine;
      parse!(piece);
    }
  }

  const isReadingBody = () => last !== null && !last.complete;
  /** True if no code reads the body yet. The first read makes the parser resume the socket. */
  const isBodyUnread = () => isReadingBody() && last!.readableFlowing === null && last!.readableLength > 0;
  /** True if a request waits or the current request is complete. A waiting request needs its body only on its turn. */
  const isBusy = () => waiting.length > 0 || current?.request.complete === true;

  function hold(left: Buffer): void {
    isHeld = true;
    socket.pause();
    socket.unshift(left);
  }

  function measureLine(piece: Buffer): void {
    if (line.isComplete) return;
    const end = piece.indexOf('\n');
    line.bytes += end < 0 ? piece.length : end;
    line.isComplete = end >= 0;
  }

  function start(): void {
    isStarting = false;
    if (socket.destroyed || current) return;
    const next = waiting.shift();
    if (next) {
      current = next;
      socket.setTimeout(0);
      next.handle();
    } else if (ending) ending();
    else if (isHeld) {
      isHeld = false;
      socket.resume();
    }
  }

  return {
    take(request, response, handle) {
      last = request;
      waiting.push({ request, response, handle });
      response.once('prefinish', () => socket.setTimeout(UNREAD_MS));
      response.once('close', () => {
        current = null;
        if (isStarting || !(waiting.length || ending || isHeld)) return;
        isStarting = true;
        setImmediate(start); // requests of other connections run in between
      });
      if (!current && !isStarting) start();
    },
    end(answer) {
      if (ending) return;
      ending = answer;
      socket.resume();
      if (current?.request.complete || isStarting) return; // the current answer goes first
      if (current?.response.headersSent) socket.destroy();
      else answer();
    },
    refuse(answer) {
      ending = answer;
      waiting.length = 0;
      answer();
    },
    lineBytes: () => line.bytes,
  };
}

/** Returns the end of the next piece: an empty line after `skipped` bytes, or a limited length if there is none. */
function pieceOf(chunk: Buffer, at: number, skipped: number): { end: number; isEmptyLine: boolean } {
  const start = at + skipped;
  const window = chunk.subarray(start, start + WINDOW_BYTES);
  const [crlf, lf] = [window.indexOf('\n\r\n'), window.indexOf('\n\n')];
  if (crlf < 0 && lf < 0) return { end: Math.min(chunk.length, start + WINDOW_BYTES), isEmptyLine: false };
  return { end: start + (lf < 0 || (crlf >= 0 && crlf < lf) ? crlf + 3 : lf + 2), isEmptyLine: true };
}
