// Declares the imports and constants that the bundler supplies.
declare module '*.css' {
  const text: string;
  export default text;
}
/** Symbolic icons, as data/build/webui.mjs reads them. */
declare module '*.svg' {
  const paths: readonly { d: string; opacity?: number }[];
  export default paths;
}
/** Version of this page, from package.json. */
declare const __VERSION__: string;
