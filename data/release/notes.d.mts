export function releaseNotes(
  version: string,
  project: {
    releases: { source: string };
    releaseKeys: { pinned: readonly { key: string; revoked?: boolean }[] };
  },
  changelog: string,
  signature?: string,
): string;
