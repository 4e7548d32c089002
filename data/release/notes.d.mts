export function releaseNotes(
  version: string,
  project: {
    releases: { source: string };
    releaseKeys: { pinned: readonly { key: string; revoked?: boolean }[] };
  },
  changelog: string,
  release?: { signature?: string; machines?: string[] },
): string;
