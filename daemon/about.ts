// What this build is: the version stands in package.json alone and reaches the code through the bundler.
declare const __VERSION__: string | undefined;
declare const __COMMIT__: string | undefined;

/** As in package.json; `0.0.0-source` when run without a build. */
export const VERSION = typeof __VERSION__ === 'string' ? __VERSION__ : '0.0.0-source';
/** Abbreviated git commit of the build, or null where there was none. */
export const COMMIT = typeof __COMMIT__ === 'string' && __COMMIT__ ? __COMMIT__ : null;

/** Raised when an answer changes so that an older client can't read it. */
export const API_VERSION = 1;

const FORMATS = ['source', 'user', 'system', 'appimage', 'deb'] as const;
/** How this program was installed: its packager exports CULVERT_INSTALL_FORMAT through the launcher. */
export const INSTALL_FORMAT = FORMATS.find(f => f === process.env.CULVERT_INSTALL_FORMAT) ?? 'source';
