export function releasesAt(url: URL): { source: string; redirectHosts: string[] };
export function ownerAt(url: URL): string | null;
export function withOwner(text: string, owner: string): string;
