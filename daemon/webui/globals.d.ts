// Declares the imports and constants that the bundler supplies.
declare module '*.css' {
  const text: string;
  export default text;
}
/** Symbolic icons of a folder by name, as data/build/webui.mjs reads them: `icons:FOLDER`, or `icons:FOLDER?PATTERN` for some. */
declare module 'icons:*' {
  const icons: Record<string, readonly { d: string; opacity?: number }[]>;
  export default icons;
}
/** Version of this page, from package.json. */
declare const __VERSION__: string;
