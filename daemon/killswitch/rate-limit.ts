// Pure: limits how often one user may call the root service.

/** A bucket for each user: `burst` calls in a row, refilled with `perSecond`. */
export function createLimit(burst: number, perSecond: number) {
  const buckets = new Map<number, { left: number; at: number }>();
  return {
    /** @param seconds a clock that only goes forward. @returns whether this call is still within the limit */
    take(uid: number, seconds: number): boolean {
      const bucket = buckets.get(uid) ?? { left: burst, at: seconds };
      const left = Math.min(burst, bucket.left + (seconds - bucket.at) * perSecond);
      if (buckets.size > 1000) buckets.clear(); // a thousand users at a time: start counting again
      buckets.set(uid, { left: left >= 1 ? left - 1 : left, at: seconds });
      return left >= 1;
    },
  };
}
