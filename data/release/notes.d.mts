export function releaseNotes(
  version: string,
  project: {
    releases: { source: string };
    releaseKeys: { pinned: readonly { key: string; revoked?: boolean }[] };
  },
  changelog: string,
  release?: { channel?: string; signature?: string; machines?: string[] },
): string;
