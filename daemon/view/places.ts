// Cities of Cloudflare's data centers. WARP names a data center by the IATA code of an airport nearby.
import cities from './data-centers.json' with { type: 'json' };

const CITIES = new Map<string, string>(Object.entries(cities));

/** `Frankfurt` for FRA; the code itself for a data center that the list lacks. */
export function placeName(code: string): string {
  return CITIES.get(code.toUpperCase()) ?? code;
}

/** `Frankfurt (FRA)`; the code alone for a data center that the list lacks. */
export function placeDetail(code: string): string {
  const name = placeName(code);
  return name === code ? code : `${name} (${code})`;
}
