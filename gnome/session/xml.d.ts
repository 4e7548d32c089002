// The bundler takes such a file as a string.
declare module '*.xml' {
  const text: string;
  export default text;
}
