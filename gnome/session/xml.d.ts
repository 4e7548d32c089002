// Declares that the bundler takes an XML file as a string.
declare module '*.xml' {
  const text: string;
  export default text;
}
