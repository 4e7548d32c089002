// Limits the memory of large bodies that requests hold together.
import type { ServerResponse } from 'node:http';

/** Memory for bodies, in bytes. Requests that find too little wait in turn. */
export class Room {
  #left: number;
  readonly #waiting = new Set<{ bytes: number; enter: () => void }>();

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /**
   * Waits for room, and keeps it until the program has taken the answer or left.
   * @param bytes at most the size of the room
   */
  take(bytes: number, res: ServerResponse): Promise<void> {
    if (res.destroyed) return Promise.resolve();
    return new Promise(enter => {
      const waiter = { bytes, enter };
      const leave = () => {
        res.off('close', leave).off('drain', leave);
        if (this.#waiting.delete(waiter)) enter();
        else this.#left += bytes;
        this.#admit();
      };
      res.on('close', leave).on('drain', leave);
      this.#waiting.add(waiter);
      this.#admit();
    });
  }

  #admit(): void {
    for (const waiter of this.#waiting) {
      if (waiter.bytes > this.#left) return;
      this.#waiting.delete(waiter);
      this.#left -= waiter.bytes;
      waiter.enter();
    }
  }
}
