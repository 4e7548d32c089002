// What this build is: the version stands in package.json alone and reaches the code through the bundler.
import type { Version } from './api/schema.ts';

declare const __VERSION__: string | undefined;
declare const __COMMIT__: string | undefined;
declare const __FORMAT__: string | undefined;

/** As in package.json; `0.0.0-source` when run without a build. */
export const VERSION = typeof __VERSION__ === 'string' ? __VERSION__ : '0.0.0-source';
/** Abbreviated git commit of the build, or null where there was none. */
export const COMMIT = typeof __COMMIT__ === 'string' && __COMMIT__ ? __COMMIT__ : null;

/** Raised when an answer changes so that an older client can't read it. */
export const API_VERSION = 1;

/** How this program was installed; a build option. */
export const INSTALL_FORMAT = typeof __FORMAT__ === 'string' ? (__FORMAT__ as Version['installFormat']) : 'source';
