// Shares the result of a function between the requests that arrive together.

/** Calls a function once in a turn of the event loop. A request that arrives later gets a new result. */
export function oncePerTurn<T>(read: () => T): () => T {
  let result: { value: T } | undefined;
  return () => {
    if (result) return result.value;
    result = { value: read() };
    setImmediate(() => {
      result = undefined;
    });
    return result.value;
  };
}
