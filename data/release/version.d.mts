export function dateChangelog(text: string, version: string, date: string): string | null;
export function changelogProblem(text: string, version: string): string | null;
