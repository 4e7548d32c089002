import type { RequestListener } from 'node:http';

export function files(directory: string): RequestListener;
export function pages(storage: string): RequestListener;
