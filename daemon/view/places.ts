// Names the cities of Cloudflare's data centers. WARP identifies a data center by the IATA code of a nearby airport.
import cities from './data-centers.json' with { type: 'json' };

const CITIES = new Map<string, string>(Object.entries(cities));

/** Returns `Frankfurt` for FRA; returns the code itself if the list lacks the data center. */
export function placeName(code: string): string {
  return CITIES.get(code.toUpperCase()) ?? code;
}

/** Returns `Frankfurt (FRA)`; returns the code alone if the list lacks the data center. */
export function placeDetail(code: string): string {
  const name = placeName(code);
  return name === code ? code : `${name} (${code})`;
}
