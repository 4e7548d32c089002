// Provides the version of this build, which the bundler takes from package.json.
import type { Version } from '../api/schema.ts';

declare const __VERSION__: string | undefined;
declare const __COMMIT__: string | undefined;
declare const __FORMAT__: string | undefined;
declare const __NAME__: string | undefined;
declare const __APP_ID__: string | undefined;
declare const __PORT__: number | undefined;

/** As in package.json; `0.0.0-source` when run without a build. */
export const VERSION = typeof __VERSION__ === 'string' ? __VERSION__ : '0.0.0-source';
/** Abbreviated git commit of the build; null when built outside a repository. */
export const COMMIT = typeof __COMMIT__ === 'string' && __COMMIT__ ? __COMMIT__ : null;

/** Raised when an answer changes so that an older client can't read it. */
export const API_VERSION = 2;

/** Kind of installation; a build option. */
export const INSTALL_FORMAT = typeof __FORMAT__ === 'string' ? (__FORMAT__ as Version['installFormat']) : 'source';

/**
 * Name of this build's directories, and the id of its desktop application. A development build has other names
 * (data/build/profiles.mjs), so that it can run next to an installed Culvert.
 */
export const NAME = typeof __NAME__ === 'string' ? __NAME__ : 'culvert';
export const APP_ID = typeof __APP_ID__ === 'string' ? __APP_ID__ : 'org.culvert.Culvert';
/** The default of `server.port`. */
export const PORT = typeof __PORT__ === 'number' ? __PORT__ : 4173;
